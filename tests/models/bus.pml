// bus.pml: the check over a unit that spans the bus. Rules "Across the bus" and "Abort" of docs/termination.md; T2, T4
// and T6 of include/hiway/termination.hpp.
//
// Tunnel 0 leads from the host to the device, tunnel 1 back; a source on the host puts into tunnel 0; the host stage
// reads 1 and writes 0, the device stage reads 0 and writes 1: one unit. A tunnel is two half-rings: `claimed` at the
// producers' home; `published` and `credited` are moved by its transfer; `taken`, `retired` and `finished` at the
// consumers' home.
//
//   safety    when the end is announced, open_tasks is 0 and every ticket was taken
//   liveness  (LIVE) every process returns
//
// Scenarios: DEVICE_FIRST (the device's finished before the host's), RELAY (a second ring behind tunnel 0, filled by a
// relay: a task with one child), WAVE (the device's words are read on request, instead of by one reader that reads
// all), FAULT (any task may fault).
#ifndef ITEMS
#define ITEMS 2
#endif
#ifndef SPAWN
#define SPAWN 2
#endif
#ifndef CAPACITY
#define CAPACITY 2
#endif
#define DOWN 0  // the tunnel from the host to the device
#define UP 1

byte claimed[2], committed[2], published[2], credited[2], taken[2], retired[2], finished[2];
byte relay_queued, relay_claimed, relay_finished;  // RELAY: the second ring, all its words on the device
byte may_spawn = SPAWN, open_tasks = ITEMS, returned;
bool closed, ended, aborted, asked, answered;
byte answer_finished, answer_created;
byte mirror_finished, mirror_created, cached_claimed;

#ifdef RELAY
#define RELAYS 1
#else
#define RELAYS 0
#endif
#if defined(WAVE) || defined(MIRRORS)
#define MONITORS 1
#else
#define MONITORS 0
#endif
#define PROCESSES (7 + RELAYS + MONITORS)

inline put(tunnel) {
  if
  :: atomic { claimed[tunnel] - credited[tunnel] < CAPACITY -> claimed[tunnel]++ }
#ifndef WAIT_FOR_ROOM_IGNORES_ABORT
  :: aborted -> goto leave
#endif
  fi;
  committed[tunnel]++;
  printf("an item put into tunnel %d\n", tunnel)
}

proctype Source() {
  byte i;
  for (i : 1 .. ITEMS) { put(DOWN) }
  closed = 1;
leave:
  returned++
}

// Moves the committed prefix one way and credit the other, each on its own; counts nothing.
proctype Transfer(byte tunnel) {
  do
  :: atomic { published[tunnel] < committed[tunnel] -> published[tunnel] = committed[tunnel] }
  :: atomic { credited[tunnel] < retired[tunnel] -> credited[tunnel] = retired[tunnel] }
#ifdef CLAIMED_CACHED
  :: tunnel == DOWN && cached_claimed < claimed[DOWN] -> cached_claimed = claimed[DOWN]
#endif
  :: ended || aborted -> break
  od;
  returned++
}

#ifdef RELAY
proctype Relay() {
  do
  :: atomic { taken[DOWN] < published[DOWN] && !ended -> taken[DOWN]++ } retired[DOWN]++;
#ifdef RELAY_FINISHES_FIRST
     finished[DOWN]++; relay_claimed++; relay_queued++
#else
     relay_claimed++; relay_queued++; finished[DOWN]++
#endif
  :: ended || aborted -> break
  od;
  returned++
}
#endif

#ifdef RELAY
#define VISIBLE(from) (from == DOWN -> relay_queued > 0 : taken[from] < published[from])
#else
#define VISIBLE(from) (taken[from] < published[from])
#endif
inline take(from) {
  if
  :: RELAYS && from == DOWN -> relay_queued--
  :: else -> taken[from]++
  fi
}

inline end_tasks(from) {
  if
  :: RELAYS && from == DOWN -> relay_finished = relay_finished + pending
  :: else -> finished[from] = finished[from] + pending
  fi;
  pending = 0;
  printf("the reader of tunnel %d has counted its ended tasks\n", from)
}

proctype Stage(byte from; byte into) {
  byte pending;
  do
  :: atomic { VISIBLE(from) && !ended -> take(from); printf("the reader of tunnel %d gets a task\n", from) }
     if
     :: RELAYS && from == DOWN
     :: else -> retired[from]++
     fi;
     if
     :: atomic { may_spawn > 0 -> may_spawn--; open_tasks++ } put(into)
     :: skip
#ifdef FAULT
     :: atomic { !aborted -> aborted = 1; printf("the reader of tunnel %d faults\n", from) } goto leave
#endif
     fi;
     atomic { open_tasks--; pending++ }
     if
     :: pending == 2 -> end_tasks(from)
     :: else
     fi
  :: atomic { pending > 0 && !VISIBLE(from) -> end_tasks(from) }
  :: ended || aborted -> break
  od;
leave:
  returned++
}

#if defined(PUBLISHED_AS_CREATED)
#define CREATED(tunnel) published[tunnel]
#else
#define CREATED(tunnel) claimed[tunnel]
#endif
#if defined(RETIRED_AS_FINISHED)
#define FINISHED(tunnel) retired[tunnel]
#elif defined(TAKEN_AS_FINISHED)
#define FINISHED(tunnel) taken[tunnel]
#else
#define FINISHED(tunnel) finished[tunnel]
#endif
#define ADD_HOST_FINISHED finished_sum = finished_sum + FINISHED(UP)
#define ADD_DEVICE_FINISHED finished_sum = finished_sum + FINISHED(DOWN); finished_sum = finished_sum + relay_finished
#define ADD_DEVICE_CREATED created_sum = created_sum + CREATED(UP); created_sum = created_sum + relay_claimed
#define ADD_HOST_CREATED created_sum = created_sum + CREATED(DOWN)

#if defined(WAVE)
proctype DeviceMonitor() {
  do
  :: asked && !answered ->
     answer_finished = FINISHED(DOWN); answer_finished = answer_finished + relay_finished;
     answer_created = CREATED(UP); answer_created = answer_created + relay_claimed;
     answered = 1
  :: ended || aborted -> break
  od;
  returned++
}
#elif defined(MIRRORS)
proctype HostMonitor() {  // refreshes the host's words on the device, on its own
  do
  :: mirror_finished != FINISHED(UP) || mirror_created != CREATED(DOWN) ->
     mirror_finished = FINISHED(UP); mirror_created = CREATED(DOWN)
  :: ended || aborted -> break
  od;
  returned++
}
#endif

proctype Checker() {
  byte finished_sum, created_sum;
#ifdef ABORT_NOT_READ_AT_GATE
  closed;
#else
  closed || aborted;
#endif
  do
#ifdef ABORT_NOT_READ_IN_ROUND
  :: true ->
#else
  :: aborted -> break  // T6
  :: else ->
#endif
     finished_sum = 0; created_sum = 0;
#if defined(HOST_CREATED_FIRST)
     ADD_HOST_CREATED; ADD_HOST_FINISHED; ADD_DEVICE_FINISHED; ADD_DEVICE_CREATED;
#elif defined(HOME_BY_HOME)
     ADD_DEVICE_FINISHED; ADD_DEVICE_CREATED; ADD_HOST_FINISHED; ADD_HOST_CREATED;
#elif defined(TUNNEL_BY_TUNNEL)
     ADD_DEVICE_FINISHED; ADD_HOST_CREATED; ADD_HOST_FINISHED; ADD_DEVICE_CREATED;
#elif defined(MIRRORS)
     finished_sum = mirror_finished; ADD_DEVICE_FINISHED; ADD_DEVICE_CREATED; created_sum = created_sum + mirror_created;
     created_sum > 0 || aborted;  // else the mirrors are wrong at once
#elif defined(CLAIMED_CACHED)
     ADD_HOST_FINISHED; ADD_DEVICE_FINISHED; ADD_DEVICE_CREATED; created_sum = created_sum + cached_claimed;
     created_sum > 0 || aborted;
#elif defined(WAVE)
     ADD_HOST_FINISHED;
#ifdef WAVE_HOST_CREATED_EARLY
     ADD_HOST_CREATED;
#endif
     asked = 1;
     answered || aborted;
     asked = 0; finished_sum = finished_sum + answer_finished; created_sum = created_sum + answer_created; answered = 0;
#ifndef WAVE_HOST_CREATED_EARLY
     ADD_HOST_CREATED;
#endif
#elif defined(DEVICE_FIRST)
     ADD_DEVICE_FINISHED; ADD_HOST_FINISHED; ADD_HOST_CREATED; ADD_DEVICE_CREATED;
#else
     ADD_HOST_FINISHED; ADD_DEVICE_FINISHED; ADD_DEVICE_CREATED; ADD_HOST_CREATED;
#endif
     if
     :: finished_sum == created_sum && !aborted -> atomic {
          ended = 1;
          printf("the end is announced: %d created, %d finished\n", created_sum, finished_sum);
          assert(open_tasks == 0);
          assert(taken[DOWN] == claimed[DOWN] && taken[UP] == claimed[UP])
        }
        break
     :: else
     fi
  od;
  returned++
}

init {
  atomic {
    run Source(); run Transfer(DOWN); run Transfer(UP); run Stage(DOWN, UP); run Stage(UP, DOWN); run Checker();
#ifdef RELAY
    run Relay();
#endif
#if defined(WAVE)
    run DeviceMonitor();
#elif defined(MIRRORS)
    run HostMonitor();
#endif
  }
  returned == PROCESSES - 1;
  assert(aborted || open_tasks == 0);
  returned++
}
#ifdef LIVE
ltl returns { <> (returned == PROCESSES) }
#endif
