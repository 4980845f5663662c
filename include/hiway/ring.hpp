// The queue of a tunnel. One file for each protocol, each with its proof:
//
//   ring/ring.hpp       Ring: its words and its handle              I1 to I3: what holds for every ring
//   ring/claim.hpp      how lanes and warps come to tickets         the first step of a put or get
//   ring/handover.hpp   how a slot is written or read, and left     the second step
//   ring/turns.hpp      whole rings: a turn for each slot           I5, I7, R1, R2, A1, A2
//   ring/counts.hpp     half-rings: counts of what is done          I4, I6, R3
//   ring/tags.hpp       items that carry a tag                      R4, A4
//   ring/span.hpp       items that lanes copy side by side
//   ring/shard.hpp      rings side by side, with producers of their own
#pragma once
#include "hiway/ring/claim.hpp"
#include "hiway/ring/counts.hpp"
#include "hiway/ring/handover.hpp"
#include "hiway/ring/ring.hpp"
#include "hiway/ring/shard.hpp"
#include "hiway/ring/span.hpp"
#include "hiway/ring/tags.hpp"
#include "hiway/ring/turns.hpp"
