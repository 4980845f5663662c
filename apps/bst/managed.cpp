#include "bst/methods.hpp"

namespace bst {
namespace {

RunManaged& registered() noexcept {
  static RunManaged run = nullptr;
  return run;
}

}  // namespace

bool register_managed(RunManaged run) noexcept {
  registered() = run;
  return true;
}

RunManaged managed_method() { return registered(); }

}  // namespace bst
