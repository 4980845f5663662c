// slice.pml: a kernel leaves between tasks and comes back, beside calls that want the device for themselves. Rules L1 to
// L3 of include/hiway/launch/slice.hpp; docs/termination.md, "Kernels that yield".
//
// A source puts ITEMS items into tunnel a, of CAPACITY items. LANES lanes of a kernel get them, and put a result each into
// tunnel b, of as many, which a consumer reads. The monitor, a kernel too, looks for the ends. A call waits until no kernel is on the device;
// until then none is launched. The consumer makes CALLS of them, each within a task.
//
//   safety    no item is lost or doubled, and no end is announced before its last one
//   liveness  (LIVE) every process returns, whoever calls
//
// Scenarios: FOREIGN (a thread that belongs to no stage calls, too), RESIDENT_MONITOR (another stage of the device
// is resident, so the monitor is; then nobody may call).
#ifndef ITEMS
#define ITEMS 2
#endif
#ifndef CAPACITY
#define CAPACITY 1
#endif
#ifndef LANES
#define LANES 2
#endif
#ifndef CALLS
#define CALLS 1
#endif
#ifdef NOT_BACK_WHEN_ENDED
#define COMES_BACK !ended_b
#else
#define COMES_BACK true
#endif
#ifdef FOREIGN
#define PROCESSES (LANES + 6)
#else
#define PROCESSES (LANES + 5)
#endif

byte in_a, in_b;                                  // items that lie in the tunnels
byte created_a, finished_a, created_b, finished_b;
bool closed_a, ended_a, ended_b;
bool may_run[LANES], held[LANES], has_returned[LANES];
byte inside, stage_returned;                      // lanes on the device; lanes of the stage that have returned
bool monitor_inside, monitor_over;
byte calls_waiting;
byte consumed, returned;

inline finish_a() { finished_a++ }

// Waits as long as nobody wants the device, or holds the result when the slice is over: whichever comes first.
inline put_or_hold(me) {
  do
  :: atomic { in_b < CAPACITY -> in_b++; created_b++; held[me] = 0 };
     finish_a(); break
#ifndef WAITS_FOR_ROOM
  :: in_b == CAPACITY ->
#ifdef HELD_TASK_ENDED
     if
     :: !held[me] -> finish_a()
     :: else
     fi;
#endif
#ifndef HELD_IS_LOST
     held[me] = 1;
#endif
     printf("lane %d holds its result\n", me); goto leave
#endif
  od
}

proctype Lane(byte me) {
  do
  :: atomic { may_run[me] -> may_run[me] = 0 };
     if
     :: held[me] -> put_or_hold(me)
     :: else
     fi;
     do
     :: atomic { in_a > 0 -> in_a--; printf("lane %d gets an item\n", me) };
        put_or_hold(me);
        if
        :: skip
        :: break  // the slice is over
        fi
     :: ended_a ->
        assert(!held[me]);
        if
        :: !has_returned[me] -> has_returned[me] = 1; stage_returned++
        :: else
        fi;
        break
     :: in_a == 0 && !ended_a -> break
     od;
leave:
#ifdef RETURNS_WITH_ITS_SLICE
     if
     :: !has_returned[me] -> has_returned[me] = 1; stage_returned++
     :: else
     fi;
#endif
     inside--
  :: monitor_over && !may_run[me] && stage_returned == LANES && inside == 0 -> break
  od;
  returned++
}

// The watcher: as soon as the kernel has left, it is launched again.
proctype Starter() {
  byte lane;
  do
  :: atomic {
       inside == 0 && calls_waiting == 0 && stage_returned < LANES && COMES_BACK -> inside = LANES; lane = 0;
       do
       :: lane < LANES -> may_run[lane] = 1; lane++
       :: else -> break
       od
     }
  :: stage_returned == LANES -> break
  od;
  returned++
}

proctype Monitor() {
  byte finished, created;
  do
  :: atomic { (monitor_inside || calls_waiting == 0) -> monitor_inside = 1 };
     if
     :: closed_a && !ended_a ->
        finished = finished_a; created = created_a;
        if
        :: finished == created ->
           atomic { ended_a = 1; printf("a has ended\n"); assert(in_a == 0 && !held[0] && !held[LANES - 1]) }
        :: else
        fi
     :: else
     fi;
     if
     :: ended_a && !ended_b ->
        finished = finished_b; created = created_b;
        if
        :: finished == created -> atomic { ended_b = 1; assert(in_b == 0) }
        :: else
        fi
     :: else
     fi;
     if
     :: ended_b && stage_returned == LANES -> atomic { monitor_over = 1; monitor_inside = 0 }; break
     :: else
     fi;
#if !defined(RESIDENT_MONITOR) && !defined(MONITOR_STAYS)
     monitor_inside = 0
#endif
  od;
  returned++
}

inline call() {
  calls_waiting++;
  printf("a call waits for the device\n");
  atomic { inside == 0 && !monitor_inside -> calls_waiting--; printf("it has had it\n") }
}

proctype Consumer() {
  byte calls = CALLS;
  do
  :: atomic { in_b > 0 -> in_b-- };
     if
     :: calls > 0 -> calls--; call()
     :: skip
     fi;
     consumed++; finished_b++
  :: ended_b -> break
  od;
  assert(consumed == ITEMS);
  returned++
}

proctype Source() {
  byte put;
  do
  :: put < ITEMS -> atomic { in_a < CAPACITY -> in_a++; created_a++; put++ }
  :: else -> break
  od;
  closed_a = 1;
  returned++
}

#ifdef FOREIGN
proctype Guest() {
  call();
  returned++
}
#endif

init {
  byte lane;
  atomic {
    run Source(); run Starter(); run Monitor(); run Consumer();
#ifdef FOREIGN
    run Guest();
#endif
    do
    :: lane < LANES -> run Lane(lane); lane++
    :: else -> break
    od
  }
  returned == PROCESSES - 1;
  assert(consumed == ITEMS && in_a == 0 && in_b == 0);
  returned++
}
#ifdef LIVE
ltl returns { <> (returned == PROCESSES) }
#endif
