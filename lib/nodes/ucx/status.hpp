// What UCX answers, as an Error of one line.
#pragma once
#include <ucp/api/ucp.h>

#include <string>
#include <string_view>

namespace hiway::detail::nodes {

/// As it begins a message: "node 3".
[[nodiscard]] std::string name_of_node(int node);

/// *Throws* Error "WHERE: WHAT failed: what UCX says" unless all is well.
void check(ucs_status_t status, std::string_view where, std::string_view what);

}  // namespace hiway::detail::nodes
