// The planner's texts: which task waits for room in which stream, for which task the room is held, and what to raise.
// Also a picture for Graphviz.
#pragma once
#include <string>
#include <vector>

#include "hiway/plan/plan.hpp"
#include "lib/plan/schedule.hpp"

namespace hiway::plan {

/// A cycle of waits in one line; ends with what breaks it.
[[nodiscard]] std::string explain_cycle(Tasks const& tasks, std::vector<std::string> const& streams,
                                        std::vector<Wait> const& cycle);

/// The first read of elements that are never written, in one line; "" when there is none.
[[nodiscard]] std::string explain_starved(Tasks const& tasks);

/// "s1 2, s2 5".
[[nodiscard]] std::string list_of(std::vector<std::string> const& streams, Capacities const& capacities);

/// The picture: the tasks of the program's text and the streams between them. `capacities` may be empty.
[[nodiscard]] std::string dot_of(Tasks const& tasks, std::vector<std::string> const& streams,
                                 Capacities const& capacities);

}  // namespace hiway::plan
