// Output files: what is at the path decides how it is written, and nothing half written stays.
#include "hiway/output_file.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/sanitizer.hpp"

namespace {

namespace fs = std::filesystem;
using hiway::why_not_writable;
using hiway::write_file;
using std::chrono::milliseconds;
using testing::AnyOf;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

std::string read(fs::path const& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

mode_t mode_of(fs::path const& path) {
  struct stat is{};
  return lstat(path.c_str(), &is) == 0 ? is.st_mode : 0;
}

/// What a child process says, which may change its own limits and mounts; an end by a signal is "signal N".
template <class Body>
std::string in_a_child(Body body) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  pid_t const child = fork();
  if (child == 0) {
    std::string const said = body();
    (void)!write(ends[1], said.data(), said.size());
    _exit(0);
  }
  close(ends[1]);
  std::string said;
  char part[256];
  for (ssize_t got = 0; (got = ::read(ends[0], part, sizeof part)) > 0;)
    said.append(part, static_cast<std::size_t>(got));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status)) : said;
}

class OutputFile : public testing::Test {
 protected:
  OutputFile() {
    std::string name = testing::TempDir() + "output_XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~OutputFile() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string at(std::string const& name) const { return (folder_ / name).string(); }
  void put(std::string const& name, std::string const& text) const { std::ofstream(folder_ / name) << text; }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (auto const& entry : fs::directory_iterator(folder_)) all.push_back(entry.path().filename());
    return all;
  }

  fs::path folder_;
};

TEST_F(OutputFile, IsNewWithTheModeThatUmaskGives) {
  mode_t const before = umask(027);
  EXPECT_EQ(why_not_writable(at("a")), "");
  EXPECT_THAT(names(), ElementsAre());
  EXPECT_EQ(write_file(at("a"), "text"), "");
  umask(before);
  EXPECT_EQ(read(at("a")), "text");
  EXPECT_EQ(mode_of(at("a")), S_IFREG | 0640);
  EXPECT_THAT(names(), ElementsAre("a"));
}

TEST_F(OutputFile, TakesThePlaceOfAnotherAndItsMode) {
  put("a", "a longer text from before");
  chmod(at("a").c_str(), 0604);
  std::ifstream reader(at("a"));
  EXPECT_EQ(why_not_writable(at("a")), "");
  EXPECT_EQ(write_file(at("a"), "new"), "");
  EXPECT_EQ(read(at("a")), "new");
  EXPECT_EQ(mode_of(at("a")), S_IFREG | 0604);
  std::stringstream old;
  old << reader.rdbuf();
  EXPECT_EQ(old.str(), "a longer text from before");  // a reader that has opened it sees the whole old file
  EXPECT_THAT(names(), ElementsAre("a"));
}

TEST_F(OutputFile, BehindALinkIsWrittenAndTheLinkStays) {
  fs::create_directory(folder_ / "sub");
  put("sub/old", "old");
  fs::create_symlink("sub/link", folder_ / "link");
  fs::create_symlink("old", folder_ / "sub/link");
  fs::create_symlink("sub/new", folder_ / "to_nothing");
  EXPECT_EQ(write_file(at("link"), "1"), "");
  EXPECT_EQ(write_file(at("to_nothing"), "2"), "");
  EXPECT_EQ(read(at("sub/old")), "1");
  EXPECT_EQ(read(at("sub/new")), "2");
  for (char const* const link : {"link", "sub/link", "to_nothing"}) EXPECT_TRUE(S_ISLNK(mode_of(at(link)))) << link;
}

// A file of its own beside the other had a name that could be told before: whoever made a link of that name chose what was
// overwritten.
TEST_F(OutputFile, HasNoNameBesideItThatCanBePlanted) {
  put("victim", "precious");
  fs::create_symlink("victim", folder_ / ("a.part" + std::to_string(getpid())));
  EXPECT_EQ(write_file(at("a"), "text"), "");
  EXPECT_EQ(read(at("victim")), "precious");
}

TEST_F(OutputFile, WithSeveralNamesKeepsThem) {
  put("a", "old");
  fs::create_hard_link(folder_ / "a", folder_ / "b");
  EXPECT_EQ(write_file(at("a"), "text"), "");
  EXPECT_EQ(read(at("b")), "text");
}

TEST_F(OutputFile, OfManyThreadsIsOneOfTheirs) {
  std::string const texts[] = {std::string(20'000, 'a'), std::string(30'000, 'b')};
  std::atomic<int> failed{0};
  {
    std::vector<std::jthread> threads;
    for (std::string const& text : texts) {
      threads.emplace_back([&] {
        for (int i = 0; i < 200; ++i) failed += write_file(at("a"), text).empty() ? 0 : 1;
      });
    }
  }
  EXPECT_EQ(failed, 0);
  EXPECT_THAT(read(at("a")), AnyOf(texts[0], texts[1]));
  EXPECT_THAT(names(), ElementsAre("a"));
}

// A trace to /dev/null made a regular file of it.
TEST_F(OutputFile, ThatIsADeviceIsWrittenThrough) {
  if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full";
  fs::create_symlink("/dev/full", folder_ / "full");
  EXPECT_EQ(why_not_writable(at("full")), "");
  EXPECT_EQ(write_file(at("full"), "text"), "No space left on device");
  EXPECT_EQ(write_file("/dev/full", "text"), "No space left on device");
  EXPECT_TRUE(S_ISCHR(mode_of("/dev/full")));
  EXPECT_TRUE(S_ISLNK(mode_of(at("full"))));
}

TEST_F(OutputFile, ThatIsAFifoGoesToItsReader) {
  ASSERT_EQ(mkfifo(at("fifo").c_str(), 0600), 0);
  EXPECT_EQ(why_not_writable(at("fifo")), "");
  std::string got;
  std::jthread reader([&] { got = read(at("fifo")); });
  std::string const text(1'000'000, 'x');  // more than the kernel keeps
  EXPECT_EQ(write_file(at("fifo"), text), "");
  reader.join();
  EXPECT_EQ(got, text);
  EXPECT_TRUE(S_ISFIFO(mode_of(at("fifo"))));
  EXPECT_THAT(names(), ElementsAre("fifo"));
}

TEST_F(OutputFile, ThatIsAFifoWithoutAReaderIsGivenUp) {
  ASSERT_EQ(mkfifo(at("fifo").c_str(), 0600), 0);
  EXPECT_EQ(write_file(at("fifo"), "text"), "is a FIFO that nobody reads");
}

TEST_F(OutputFile, ThatIsAFifoWhoseReaderSleepsIsGivenUp) {
  ASSERT_EQ(mkfifo(at("fifo").c_str(), 0600), 0);
  int const reader = open(at("fifo").c_str(), O_RDONLY | O_NONBLOCK);
  EXPECT_EQ(write_file(at("fifo"), std::string(1'000'000, 'x')), "is a FIFO whose reader takes nothing");
  close(reader);
}

TEST_F(OutputFile, ThatIsAFifoWhoseReaderLeavesSendsNoSignal) {
  ASSERT_EQ(mkfifo(at("fifo").c_str(), 0600), 0);
  std::jthread reader([&] {
    int const file = open(at("fifo").c_str(), O_RDONLY);
    char part[100];
    (void)!::read(file, part, sizeof part);
    close(file);
  });
  EXPECT_EQ(write_file(at("fifo"), std::string(1'000'000, 'x')), "Broken pipe");
}

TEST_F(OutputFile, IsWholeWhereSignalsInterrupt) {
  if (!fs::exists("/dev/fd")) GTEST_SKIP() << "no /dev/fd";
  struct sigaction often{};
  struct sigaction before{};
  often.sa_handler = [](int) {};  // without SA_RESTART
  sigaction(SIGALRM, &often, &before);
  auto const slowly = [](std::string const& path, std::size_t& got) {
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarm, nullptr);
    std::this_thread::sleep_for(milliseconds(50));
    int const file = open(path.c_str(), O_RDONLY);
    std::vector<char> part(30'000);
    for (ssize_t n = 0; (n = ::read(file, part.data(), part.size())) > 0; std::this_thread::sleep_for(milliseconds(3)))
      got += static_cast<std::size_t>(n);
    close(file);
  };
  ASSERT_EQ(mkfifo(at("fifo").c_str(), 0600), 0);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  std::size_t from_fifo = 0;
  std::size_t from_pipe = 0;
  std::string const text(1'000'000, 'x');
  {
    std::jthread const fifo(slowly, at("fifo"), std::ref(from_fifo));
    std::jthread const pipe(slowly, "/dev/fd/" + std::to_string(ends[0]), std::ref(from_pipe));
    std::this_thread::sleep_for(milliseconds(10));  // they do not get the signals
    itimerval const every{{0, 500}, {0, 500}};
    setitimer(ITIMER_REAL, &every, nullptr);
    EXPECT_EQ(write_file(at("fifo"), text), "");
    EXPECT_EQ(write_file("/dev/fd/" + std::to_string(ends[1]), text), "");
    EXPECT_EQ(write_file(at("file"), text), "");
    itimerval const never{};
    setitimer(ITIMER_REAL, &never, nullptr);
    close(ends[1]);
  }
  close(ends[0]);
  sigaction(SIGALRM, &before, nullptr);
  EXPECT_EQ(from_fifo, text.size());
  EXPECT_EQ(from_pipe, text.size());
  EXPECT_EQ(fs::file_size(at("file")), text.size());
}

// As /dev/stdout: what a shell has redirected is not replaced, and later output is appended.
TEST_F(OutputFile, OfADescriptorGoesOnBehindWhatIsThere) {
  int const file = open(at("log").c_str(), O_WRONLY | O_CREAT, 0600);
  std::string const path = "/dev/fd/" + std::to_string(file);
  if (!fs::exists("/dev/fd")) GTEST_SKIP() << "no /dev/fd";
  ASSERT_EQ(write(file, "a", 1), 1);
  fs::create_symlink(path, folder_ / "link");
  EXPECT_EQ(why_not_writable(path), "");
  EXPECT_EQ(write_file(path, "b"), "");
  EXPECT_EQ(write_file(at("link"), "c"), "");
  ASSERT_EQ(write(file, "d", 1), 1);
  close(file);
  EXPECT_EQ(read(at("log")), "abcd");
  int const readable = open(at("log").c_str(), O_RDONLY);
  EXPECT_EQ(why_not_writable("/dev/fd/" + std::to_string(readable)), "Bad file descriptor");
  close(readable);
}

TEST_F(OutputFile, ThatIsTooLargeLeavesTheOldOne) {
  put("a", "old");
  EXPECT_EQ(in_a_child([&] {
              rlimit const small{10'000, 10'000};
              setrlimit(RLIMIT_FSIZE, &small);  // with SIGXFSZ as it is: it ends the process
              std::string const why = write_file(at("a"), std::string(20'000, 'x'));
              return why + "; " + write_file(at("b"), std::string(20'000, 'x'));
            }),
            "File too large; File too large");
  EXPECT_EQ(read(at("a")), "old");
  EXPECT_THAT(names(), ElementsAre("a"));
}

TEST_F(OutputFile, OfAProcessWithoutDescriptorsLeavesTheOldOne) {
  HIWAY_NEEDS_ALL_DESCRIPTORS();
  put("a", "old");
  EXPECT_EQ(in_a_child([&] {
              rlimit const few{3, 3};
              setrlimit(RLIMIT_NOFILE, &few);
              return why_not_writable(at("a")) + "; " + write_file(at("a"), "new") + "; " + write_file(at("b"), "new");
            }),
            "Too many open files; Too many open files; Too many open files");
  EXPECT_EQ(read(at("a")), "old");
  EXPECT_THAT(names(), ElementsAre("a"));
}

// As a container gives a single file.
TEST_F(OutputFile, ThatIsMountedIsWrittenInPlace) {
  put("a", "a longer text from before");
  put("mounted", "");
  uid_t const user = geteuid();
  std::string const said = in_a_child([&]() -> std::string {
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return "no namespace";
    std::ofstream("/proc/self/uid_map") << "0 " << user << " 1";
    if (mount(at("a").c_str(), at("mounted").c_str(), nullptr, MS_BIND, nullptr) != 0) return "no mount";
    std::string const why = why_not_writable(at("mounted")) + write_file(at("mounted"), "new");
    return why + read(at("mounted"));
  });
  if (said.starts_with("no ")) GTEST_SKIP() << said;
  EXPECT_EQ(said, "new");
  EXPECT_EQ(read(at("a")), "new");
  EXPECT_THAT(names(), UnorderedElementsAre("a", "mounted"));
}

TEST_F(OutputFile, InAFolderThatCannotBeWrittenIsWrittenInPlace) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  put("a", "a longer text from before");
  put("locked", "old");
  chmod(at("locked").c_str(), 0400);
  chmod(folder_.c_str(), 0500);
  EXPECT_EQ(why_not_writable(at("a")), "");
  EXPECT_EQ(write_file(at("a"), "new"), "");
  EXPECT_EQ(why_not_writable(at("b")), "Permission denied");
  EXPECT_EQ(write_file(at("b"), "new"), "Permission denied");
  chmod(folder_.c_str(), 0700);
  EXPECT_EQ(read(at("a")), "new");
  EXPECT_EQ(why_not_writable(at("locked")), "Permission denied");
  EXPECT_EQ(write_file(at("locked"), "new"), "Permission denied");
  EXPECT_EQ(read(at("locked")), "old");
}

TEST_F(OutputFile, SaysWhyAPathCannotBeWritten) {
  fs::create_symlink("loop", folder_ / "loop");
  put("a", "old");
  int const listening = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  at("socket").copy(address.sun_path, sizeof address.sun_path - 1);
  bind(listening, reinterpret_cast<sockaddr const*>(&address), sizeof address);
  std::pair<std::string, std::string> const cases[] = {
      {"", "No such file or directory"},
      {at("nowhere/a"), "No such file or directory"},
      {at("a/b"), "Not a directory"},
      {at("a/"), "Not a directory"},
      {folder_.string(), "Is a directory"},
      {at("loop"), "Too many levels of symbolic links"},
      {at(std::string(300, 'n')), "File name too long"},
      {at(std::string("a\0b", 3)), "a file's name cannot hold a NUL"},
      {at("socket"), "is a socket, which is not opened by its name"},
      {"/proc/self/fd/999", "Bad file descriptor"},
  };
  for (auto const& [path, why] : cases) {
    EXPECT_EQ(why_not_writable(path), why) << path;
    EXPECT_EQ(write_file(path, "text"), why) << path;
  }
  close(listening);
  EXPECT_EQ(read(at("a")), "old");
  EXPECT_THAT(names(), UnorderedElementsAre("a", "loop", "socket"));
}

TEST_F(OutputFile, MayHaveTheLongestName) {
  std::string const longest(255, 'n');
  EXPECT_EQ(why_not_writable(at(longest)), "");
  EXPECT_EQ(write_file(at(longest), "text"), "");
  EXPECT_EQ(read(at(longest)), "text");
}

}  // namespace
