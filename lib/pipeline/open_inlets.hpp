// A pipeline's open inlets of CPU threads, through which items come from outside (inlet/admission.hpp). *Threads*: one
// at a time, while a run is under way. Calling any of these again does nothing.
#pragma once

namespace hiway {

struct Layout;

void drain_open_inlets(Layout const& layout);
void pause_open_inlets(Layout const& layout);
void resume_open_inlets(Layout const& layout);

}  // namespace hiway
