// host PLUGIN: a program that knows nothing of hiway loads a plugin, runs it and unloads it, again and again. SIGUSR1 kills it
// at no time from the plugin's first pipeline on, also when the plugin has gone; and what the host made of the signal stays.
#include <dlfcn.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

namespace {

void need(bool holds, char const* what) {
  if (holds) return;
  std::printf("host: not so: %s\n", what);
  std::exit(1);
}

class Plugin {
 public:
  explicit Plugin(char const* path) : path_(path), handle_(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) std::printf("host: %s\n", dlerror());
    need(handle_ != nullptr, "the plugin is loaded");
  }
  void make() const { call<void()>("make_pipeline")(); }
  [[nodiscard]] int run() const { return call<int()>("run_pipeline")(); }
  void unload() {
    need(dlclose(handle_) == 0, "the plugin is unloaded");
    need(dlopen(path_, RTLD_NOW | RTLD_NOLOAD) == nullptr, "an unloaded plugin is no more mapped");
  }

 private:
  template <class F>
  [[nodiscard]] F* call(char const* name) const {
    return reinterpret_cast<F*>(dlsym(handle_, name));
  }
  char const* path_;
  void* handle_;
};

using Handler = void (*)(int);
Handler handler() {
  struct sigaction now{};
  sigaction(SIGUSR1, nullptr, &now);
  return now.sa_handler;
}

int own_signals = 0;
void count_own(int) { ++own_signals; }

/// A life in which the host has set `own`: a handler, or SIG_IGN.
void leaves_alone(char const* path, Handler own) {
  std::signal(SIGUSR1, own);
  Plugin plugin(path);
  plugin.make();
  need(plugin.run() == 5050, "the sum is right");
  need(handler() == own, "the host's own disposition stays while the plugin is there");
  plugin.unload();
  need(handler() == own, "the host's own disposition stays when the plugin has gone");
}

}  // namespace

int main(int, char** arguments) {
  alarm(50);
  char const* const path = arguments[1];
  sigset_t usr1;
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  for (int life = 0; life < 3; ++life) {
    Plugin plugin(path);
    plugin.make();
    need(handler() != SIG_DFL && handler() != SIG_IGN, "the first pipeline takes the signal over, in each life");
    std::raise(SIGUSR1);  // no run has started
    need(plugin.run() == 5050, "the sum is right");
    std::raise(SIGUSR1);
    sigprocmask(SIG_BLOCK, &usr1, nullptr);
    std::raise(SIGUSR1);  // pending when the plugin goes
    plugin.unload();
    sigprocmask(SIG_UNBLOCK, &usr1, nullptr);
    std::raise(SIGUSR1);
  }
  leaves_alone(path, SIG_IGN);
  leaves_alone(path, &count_own);
  std::raise(SIGUSR1);
  need(own_signals == 1, "the host's own handler is called");
  std::printf("host: survived\n");
}
