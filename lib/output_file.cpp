#include "hiway/output_file.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

namespace hiway {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto reader_must_come_within = std::chrono::seconds(1);
constexpr auto between_looks_for_it = std::chrono::milliseconds(10);
constexpr auto reader_must_take_within = std::chrono::seconds(10);
constexpr int most_links = 40;  // as Linux
constexpr int most_names = 100;

/// The error's text for people; empty for 0.
std::string reason(int error) { return error == 0 ? "" : std::generic_category().message(error); }

/// Repeats the call until no signal interrupts it. Returns -1 with errno if the call fails.
template <class Call>
auto uninterrupted(Call call) {
  for (;;) {
    auto const result = call();
    if (result >= 0 || errno != EINTR) return result;
  }
}

/// A write may send its thread a signal that ends the program. The signal is blocked and discarded: the write's error
/// says the same.
class WriteSignalsHeld {
 public:
  WriteSignalsHeld() {
    sigemptyset(&held_);
    sigset_t pending;
    sigpending(&pending);
    for (int const signal : {SIGPIPE, SIGXFSZ}) {
      if (sigismember(&pending, signal) == 0) sigaddset(&held_, signal);
    }
    pthread_sigmask(SIG_BLOCK, &held_, &before_);
  }
  ~WriteSignalsHeld() {
    timespec const at_once{};
    while (sigtimedwait(&held_, nullptr, &at_once) > 0 || errno == EINTR) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  WriteSignalsHeld(WriteSignalsHeld const&) = delete;
  WriteSignalsHeld& operator=(WriteSignalsHeld const&) = delete;

 private:
  sigset_t held_{};
  sigset_t before_{};
};

int open_to_write(std::string const& path, int flags, mode_t mode = 0) {
  return uninterrupted([&] { return ::open(path.c_str(), flags | O_WRONLY | O_CLOEXEC | O_NOCTTY, mode); });
}

/// True if `>` in a shell would be allowed to write it; otherwise errno says why.
bool may_write(std::string const& path) { return ::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0; }

/// Closes the descriptor. Returns `error` if it is set, else the error of closing: some file systems report a failed
/// write only then.
int closed(int number, int error) {
  bool const well = ::close(number) == 0 || errno == EINTR;  // Linux has closed it even then
  return error != 0 || well ? error : errno;
}

/// Writes all of the text. Returns 0 or the error. `patient`: waits forever for the descriptor to take more.
int write_all(int number, std::string_view text, bool patient) {
  while (!text.empty()) {
    ssize_t const written = uninterrupted([&] { return ::write(number, text.data(), text.size()); });
    if (written == 0) return EIO;
    if (written > 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
      continue;
    }
    if (errno != EAGAIN) return errno;
    pollfd one{number, POLLOUT, 0};
    auto const until = Clock::now() + reader_must_take_within;
    int ready = 0;
    do {
      auto const left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
      ready = ::poll(&one, 1, patient ? -1 : static_cast<int>(std::max<std::int64_t>(0, left)));
    } while (ready < 0 && errno == EINTR);
    if (ready < 0) return errno;
    if (ready == 0) return ETIMEDOUT;
  }
  return 0;
}

/// What a path leads to when links are followed.
struct Target {
  std::string error{};              ///< empty if the other members are valid
  std::string path{};               ///< not a link
  std::optional<struct stat> is{};  ///< none: there is no such file yet
  /// A descriptor of this process that the path names. If it is >= 0, no other member is valid.
  int descriptor = -1;
};

std::optional<std::string> real_path(std::string const& path) {
  char real[PATH_MAX];
  if (::realpath(path.c_str(), real) == nullptr) return std::nullopt;
  return std::string(real);
}

/// The number N if the path is /proc/SELF/fd/N, else -1. Such a link cannot be followed by its text.
int own_descriptor(std::string const& folder, std::string const& name) {
  if (!folder.starts_with("/proc/" + std::to_string(::getpid()) + "/") || !folder.ends_with("/fd")) return -1;
  int number = -1;
  auto const [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  return error == std::errc{} && end == name.data() + name.size() ? number : -1;
}

/// A path, cut before its last name.
struct Cut {
  std::string folder;
  std::string name;
};

Cut cut(std::string const& path) {
  std::size_t const slash = path.rfind('/');
  if (slash == std::string::npos) return {".", path};
  return {path.substr(0, std::max<std::size_t>(slash, 1)), path.substr(slash + 1)};
}

/// The path that a symbolic link holds; nothing, with errno, if it cannot be read.
std::optional<std::string> text_of_link(std::string const& path) {
  char text[PATH_MAX];
  ssize_t const bytes = ::readlink(path.c_str(), text, sizeof text);
  if (bytes < 0) return std::nullopt;
  return std::string(text, static_cast<std::size_t>(bytes));
}

/// A file that is there and is no link.
Target existing(std::string const& path, struct stat const& is) {
  if (S_ISDIR(is.st_mode)) return {.error = reason(EISDIR)};
  if (S_ISSOCK(is.st_mode)) return {.error = "is a socket, which is not opened by its name"};
  return {.path = path, .is = is};
}

Target target_of(std::string path) {
  if (path.find('\0') != std::string::npos) return {.error = "a file's name cannot hold a NUL"};
  if (path.empty()) return {.error = reason(ENOENT)};
  for (int links = 0; links < most_links; ++links) {
    auto const [own_folder, name] = cut(path);
    std::optional<std::string> const folder = real_path(own_folder);
    if (!folder) return {.error = reason(errno)};
    if (int const number = own_descriptor(*folder, name); number >= 0) return {.descriptor = number};
    path = *folder + (folder->ends_with('/') ? "" : "/") + name;
    struct stat is {};
    if (::lstat(path.c_str(), &is) != 0) {
      if (errno != ENOENT || name.empty()) return {.error = reason(errno)};
      return {.path = path};
    }
    if (!S_ISLNK(is.st_mode)) return existing(path, is);
    std::optional<std::string> const next = text_of_link(path);
    if (!next) return {.error = reason(errno)};
    path = next->starts_with('/') ? *next : *folder + "/" + *next;
  }
  return {.error = reason(ELOOP)};
}

/// A new file in the same folder as another. It is removed at the end unless it has taken the other's path.
class Beside {
 public:
  explicit Beside(std::string const& path) {
    std::string const folder = path.substr(0, path.rfind('/') + 1);
    for (int i = 0; i < most_names; ++i) {
      path_ = folder + ".hiway-" + random_name() + ".part";
      number_ = open_to_write(path_, O_CREAT | O_EXCL | O_NOFOLLOW, 0666);
      error_ = number_ < 0 ? errno : 0;
      if (error_ != EEXIST) break;
    }
    left_behind_ = number_ >= 0;
  }
  ~Beside() {
    if (number_ >= 0) ::close(number_);
    if (left_behind_) ::unlink(path_.c_str());
  }
  Beside(Beside const&) = delete;
  Beside& operator=(Beside const&) = delete;

  /// The error if the file could not be made, else 0.
  [[nodiscard]] int error() const { return error_; }
  /// Gives the file the owner, group and mode of the old file; false if that is not allowed.
  [[nodiscard]] bool take_after(struct stat const& before) const {
    struct stat own {};
    if (::fstat(number_, &own) != 0) return false;
    bool const same = own.st_uid == before.st_uid && own.st_gid == before.st_gid;
    if (!same && ::fchown(number_, before.st_uid, before.st_gid) != 0) return false;
    return ::fchmod(number_, before.st_mode & 07777) == 0;
  }
  /// 0, or the error.
  [[nodiscard]] int fill(std::string_view text) {
    int const error = write_all(number_, text, true);
    return closed(std::exchange(number_, -1), error);
  }
  /// 0, or the error.
  [[nodiscard]] int rename_to(std::string const& path) {
    if (::rename(path_.c_str(), path.c_str()) != 0) return errno;
    left_behind_ = false;
    return 0;
  }

 private:
  static std::string random_name() {
    std::uint64_t bits = 0;
    if (::getrandom(&bits, sizeof bits, GRND_NONBLOCK) != sizeof bits)
      bits = static_cast<std::uint64_t>(Clock::now().time_since_epoch().count());
    char text[17];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(bits));
    return text;
  }

  std::string path_;
  int number_ = -1;
  int error_ = 0;
  bool left_behind_ = false;
};

/// Writes as `>` in a shell does; the file is empty if that fails.
std::string write_in_place(std::string const& path, std::string_view text) {
  int const file = open_to_write(path, O_NOFOLLOW);
  if (file < 0) return reason(errno);
  auto const empty = [&] { return uninterrupted([&] { return ::ftruncate(file, 0); }) == 0 ? 0 : errno; };
  int error = empty();
  if (error == 0) error = write_all(file, text, true);
  if (error != 0) (void)empty();
  return reason(closed(file, error));
}

std::string write_regular(Target const& target, std::string_view text) {
  if (target.is && !may_write(target.path)) return reason(errno);  // a rename needs only the folder's permission
  int why_not_beside = 0;
  if (!target.is || target.is->st_nlink == 1) {
    Beside file(target.path);
    why_not_beside = file.error();
    if (why_not_beside == 0 && (!target.is || file.take_after(*target.is))) {
      if (int const error = file.fill(text); error != 0) return reason(error);
      why_not_beside = file.rename_to(target.path);
      if (why_not_beside == 0) return "";
    }
  }
  return target.is ? write_in_place(target.path, text) : reason(why_not_beside);
}

std::string write_through(Target const& target, std::string_view text) {
  bool const fifo = S_ISFIFO(target.is->st_mode);
  auto const until = Clock::now() + reader_must_come_within;
  int file = -1;
  while ((file = open_to_write(target.path, fifo ? O_NONBLOCK : 0)) < 0) {
    if (!fifo || errno != ENXIO) return reason(errno);
    if (Clock::now() >= until) return "is a FIFO that nobody reads";
    std::this_thread::sleep_for(between_looks_for_it);
  }
  int const error = closed(file, write_all(file, text, !fifo));
  return error == ETIMEDOUT ? "is a FIFO whose reader takes nothing" : reason(error);
}

}  // namespace

std::string why_not_writable(std::string const& path) {
  Target const target = target_of(path);
  if (!target.error.empty()) return target.error;
  if (target.descriptor >= 0) {
    int const flags = ::fcntl(target.descriptor, F_GETFL);
    return reason(flags < 0 ? errno : (flags & O_ACCMODE) == O_RDONLY ? EBADF : 0);
  }
  if (!target.is) return reason(Beside(target.path).error());
  if (!S_ISREG(target.is->st_mode))
    return reason(may_write(target.path) ? 0 : errno);  // not opened: its reader would see an end
  int const file = open_to_write(target.path, O_NOFOLLOW);
  return reason(file < 0 ? errno : closed(file, 0));
}

std::string write_file(std::string const& path, std::string_view text) {
  Target const target = target_of(path);
  if (!target.error.empty()) return target.error;
  WriteSignalsHeld const held;
  if (target.descriptor >= 0) return reason(write_all(target.descriptor, text, true));
  return !target.is || S_ISREG(target.is->st_mode) ? write_regular(target, text) : write_through(target, text);
}

}  // namespace hiway
