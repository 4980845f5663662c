// What UCX answers, as an Error of one line.
#pragma once
#include <ucp/api/ucp.h>

#include <string_view>

namespace hiway::detail::nodes {

/// *Throws* Error "WHERE: WHAT failed: what UCX says" unless all is well.
void check(ucs_status_t status, std::string_view where, std::string_view what);

}  // namespace hiway::detail::nodes
