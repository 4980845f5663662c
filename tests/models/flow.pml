// flow.pml: which puts may wait for room. Rules "Unit" (for flow control a group counts as one node) and "Spill" of
// docs/termination.md; docs/adr/0005-spill-pools.md. Rings of one slot; what spills, spills without bound.
//
//   CYCLE    A reads tunnel 0 and writes 1, B reads 1 and writes 0; SPAWN children in all
//   GROUP    one lane of a group takes from 0 and puts into 1, or takes from 1: stages A and D of the group
//   THROTTLED  Source puts into 0 and closes, Stage reads 0 and 1 and puts every item of 0 into 1, from which nothing more
//             comes; in which order it reads is anybody's choice, also 0 to its end first. Checker throttles Source while
//             more than one item lies spilled, until none does or, whenever it likes, in vain: then not again until one
//             was taken. It also makes the end check: finished, then created, tunnel by tunnel
//   (neither) a diamond: a stage puts into 0, then into 1; a join takes one of 0, then one of 1, in that order
//
//   deadlock  no process can move, and not all have returned
//   liveness  (LIVE) every process returns
#define SPAWN 4
byte queued[2], spilled[2], to_put = SPAWN, returned;

#ifdef PUT_WAITS
#define MAY_SPILL 0
#else
#define MAY_SPILL 1
#endif
inline put(tunnel) {
  if
  :: atomic { queued[tunnel] == 0 -> queued[tunnel] = 1; printf("an item put into tunnel %d\n", tunnel) }
  :: atomic { MAY_SPILL && queued[tunnel] > 0 -> spilled[tunnel]++; printf("an item spilled at tunnel %d\n", tunnel) }
  fi
}
#define HAS(tunnel) (queued[tunnel] + spilled[tunnel] > 0)
#define GET(tunnel) if :: queued[tunnel] > 0 -> queued[tunnel]-- :: else -> spilled[tunnel]-- fi
#define TAKE(tunnel) atomic { HAS(tunnel) -> GET(tunnel); printf("a task of tunnel %d is got\n", tunnel) }

#if defined(CYCLE)
#define PROCESSES 3
byte open_tasks = 2;
proctype Stage(byte from; byte into) {
  do
  :: TAKE(from)
     do
     :: atomic { to_put > 0 -> to_put--; open_tasks++ } put(into)
     :: break
     od;
     open_tasks--
  :: open_tasks == 0 -> break
  od;
  returned++
}
#elif defined(GROUP)
#define PROCESSES 4
byte items = 4;
proctype Source() {
  do
  :: to_put > 0 -> queued[0] == 0; queued[0] = 1; to_put--
  :: else -> break
  od;
  returned++
}
proctype Lane() {
  do
  :: TAKE(0) put(1)
  :: TAKE(1) items--
  :: items == 0 -> break
  od;
  returned++
}
#elif defined(THROTTLED)
#define PROCESSES 4
byte created[2], finished[2], outside_first;
bool closed, ended[2], throttled, tired;
proctype Source() {
  do
  :: to_put > 0 ->
     atomic { !throttled && queued[0] == 0 -> created[0]++; queued[0] = 1 }
     to_put--
  :: else -> break
  od;
  closed = true;
  returned++
}
proctype Stage() {
  if :: outside_first = 1 :: skip fi;
  do
  :: TAKE(0) atomic { created[1]++ } put(1) finished[0]++
  :: (!outside_first || ended[0]) && HAS(1) ->
     atomic { GET(1); tired = false; printf("an item of tunnel 1 is got\n") }
     finished[1]++
  :: ended[0] && ended[1] -> break
  od;
  assert(created[0] == SPAWN && created[1] == SPAWN && finished[1] == SPAWN);
  returned++
}
proctype Checker() {
  byte done;
  do
  :: !throttled && !tired && spilled[1] > 1 -> throttled = true; printf("Source is throttled\n")
  :: throttled && spilled[1] == 0 -> throttled = false
#ifndef NEVER_IN_VAIN
  :: throttled -> atomic { throttled = false; tired = true; printf("a throttle in vain\n") }
#endif
  :: closed && !ended[0] ->
     done = finished[0];
     if :: done == created[0] -> ended[0] = true :: else fi
  :: ended[0] && !ended[1] ->
     done = finished[1];
     if :: done == created[1] -> ended[1] = true :: else fi
  :: ended[1] -> break
  od;
  returned++
}
#else
#define PROCESSES 3
proctype Fork() {  // all of one item's results into 0, then all into 1
  byte i;
  for (i : 1 .. SPAWN) { put(0) }
  for (i : 1 .. SPAWN) { put(1) }
  returned++
}
proctype Join() {
  byte i;
  for (i : 1 .. SPAWN) {
    TAKE(0);
    TAKE(1)
  }
  returned++
}
#endif

init {
  atomic {
#if defined(CYCLE)
    queued[0] = 1; queued[1] = 1;
    run Stage(0, 1); run Stage(1, 0)
#elif defined(GROUP)
    run Source(); run Lane(); run Lane()
#elif defined(THROTTLED)
    run Source(); run Stage(); run Checker()
#else
    run Fork(); run Join()
#endif
  }
  returned == PROCESSES - 1;
  returned++
}
#ifdef LIVE
ltl returns { <> (returned == PROCESSES) }
#endif
