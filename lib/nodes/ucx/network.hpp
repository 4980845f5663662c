// UcxNetwork: a line's network by UCX: one port.
#pragma once
#include "lib/nodes/line/network.hpp"
#include "lib/nodes/ucx/port.hpp"

namespace hiway::detail::nodes {

class UcxNetwork final : public Network {
 public:
  UcxNetwork(int node, int size) : port_(node, size) {}

  [[nodiscard]] std::byte* allocate(std::size_t bytes) override;
  void connect(Meeting& meeting, Deadline until) override;
  [[nodiscard]] std::byte* here(int node, std::uint64_t address, std::size_t bytes) override;
  [[nodiscard]] std::unique_ptr<CopyStream> copies_to(int node) override;
  bool progress() override { return port_.progress(); }
  [[nodiscard]] bool begin_nap() override { return port_.begin_nap(); }
  void end_nap() override { port_.end_nap(); }
  [[nodiscard]] int descriptor() const override { return port_.descriptor(); }

 private:
  Port port_;
};

}  // namespace hiway::detail::nodes
