#include "homes.hpp"

#include <algorithm>

namespace hiway {

Homes::Homes(PipelineConfig const& config, RunInfo* run)
    : multiprocessors_(config.multiprocessors), memory_(config.memory), run_(run) {
  devices_.emplace_back().backend = make_backend(config.device);
  backend().keep_to(multiprocessors_, memory_);
  host_.words = std::make_unique<Arena>(backend(), Memory::pinned, "tunnels' words");
  host_.managed = std::make_unique<Arena>(backend(), Memory::managed, "managed items");
  host_.control = host_.words->place<Control>();
  host_.control->run = host_.words->image(host_.control).run = run;
  host_.words->image(host_.control).aborted.bits = 1;  // calls on open ends are refused until a run begins
  host_.all_ended = host_.words->place<Word<std::uint32_t>>();
  devices_.front().number = backend().number();
  give_words(devices_.front());
}

void Homes::give_words(Device& device) {
  device.words = std::make_unique<Arena>(*device.backend, Memory::device, "tunnels' words");
  device.control = device.words->place<Control>();
  device.words->image(device.control).run = run_;
  device.notice = host_.words->place<DeviceNotice>();
  device.all_ended = device.words->place<Word<std::uint32_t>>();
}

std::optional<Home> Homes::find(int number) const {
  if (number < 0) return own_device;
  for (Home const home : device_homes()) {
    if (device(home).number == number) return home;
  }
  return std::nullopt;
}

Home Homes::add(int number) {
  Device made;
  made.number = number;
  made.backend = make_backend(backend().is_host() ? "simt" : "cuda:" + std::to_string(number));
  made.backend->keep_to(multiprocessors_, memory_);
  for (Device const& earlier : devices_) {
    made.backend->enable_peer_access(*earlier.backend);
    earlier.backend->enable_peer_access(*made.backend);
  }
  give_words(made);
  devices_.push_back(std::move(made));
  return own_device + devices_.size() - 1;
}

std::string Homes::name(Home home) const {
  Device const& d = device(home);
  return devices_.size() > 1 && d.backend->is_host() ? "simt:" + std::to_string(d.number) : d.backend->name();
}

std::string Homes::names() const {
  std::string all;
  for (Home const home : device_homes()) all += (home == own_device ? "" : ", ") + name(home);
  return all;
}

bool Homes::is_reached(Home home, Home from) const {
  return home != at_host && from != at_host && backend(from).reaches(backend(home));
}

ToldWord Homes::place_told(Home teller, Home hearer, Word<std::uint64_t>& at_the_host) {
  if (!is_reached(hearer, teller)) return {&at_the_host};
  return {&words(hearer).place<DeviceWord>()->word, hearer};
}

Arena& Homes::told_plan(Home teller, Home hearer) { return is_reached(hearer, teller) ? plan(hearer) : *host_.plan; }

std::uint64_t HostCounts::sum() const {
  ThreadMachine const m;
  std::uint64_t sum = 0;
  for (Word<std::uint64_t>* const word : words) sum += m.load(*word, MemoryOrder::relaxed);
  for (Word<std::uint32_t>* const gate : gates) sum += m.load(*gate, MemoryOrder::relaxed);
  return sum;
}

bool HostCounts::are_answered() const {
  return std::ranges::all_of(outboxes, [](Relays* relays) { return is_answered(ThreadMachine{}, *relays); });
}

void Homes::make_plans() {
  host_.plan = std::make_unique<Arena>(backend(), Memory::pinned, "stages' words");
  for (Device& d : devices_) d.plan = std::make_unique<Arena>(*d.backend, Memory::device, "stages' words");
}

FailedTasksPlace Homes::place_failed_tasks(std::size_t stages, Home home) {
  Arena& arena = plan(home);
  FailedTasksPlace const place{arena.place<FailedTasks>(stages), arena.place<FirstFailure>(stages), stages};
  for (std::size_t s = 0; s < stages; ++s) arena.image(place.tasks + s).first = place.firsts + s;
  words(home).image(control(home)).failed_tasks = place.tasks;
  return place;
}

void Homes::place_failed_tasks(std::size_t stages) {
  host_.failed_tasks = place_failed_tasks(stages, at_host);
  for (Home const home : device_homes()) device(home).failed_tasks = place_failed_tasks(stages, home);
}

void Homes::reset() {
  for (Device& d : devices_) {
    for (auto const& line : d.lines) {
      if (line) line->reset();  // before the words that its copies set
    }
  }
  for (Device& d : devices_) {
    d.words->reset();
    d.plan->reset();
  }
  host_.words->reset();
  host_.plan->reset();
  for (Device& d : devices_) d.backend->finish_uploads();
}

}  // namespace hiway
