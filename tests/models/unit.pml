// unit.pml: what the check's unit is, when its gate opens, and what a group's stages close. Rules "Unit", "Membership",
// "Gate", "Closing" and "Who may put" of docs/termination.md; T3 of include/hiway/termination.hpp.
//
// Four small pipelines, each chosen by its #define; a put is a ticket, then a visible item, and never waits.
//   BUILD_PROBE    sources -> tunnels 0, 1; a loop stage J reads 0 to its end, then 1 to its end
//   MIXED          the same, but J takes from both in any order, and puts into 1, too: 1 is a cycle of its own
//   GROUP          source -> 0 -> A -> 1 -> X -> 2 -> D: A and D are one group, X is a loop and puts a last result
//   (none of them)   source -> 0 -> R1 -> 0, 0 -> R2 -> 1: tunnel 0 has two reading stages; R2 puts a last result
//
//   ghost     open_tasks[t]: tasks of tunnel t not yet ended, and puts that must still come
//   safety    when a tunnel's end is announced its open_tasks is 0
//   liveness  (LIVE) every process returns
#ifndef SPAWN
#define SPAWN 2
#endif

byte queued[3], claimed[3], finished[3], finished_second, writers[3], open_tasks[3];
byte may_spawn = SPAWN, returned;
bool ended[3];

#define PUT(t) claimed[t]++; assert(!ended[t]); queued[t]++; printf("an item put into tunnel %d\n", t)
#define TAKE(t) atomic { queued[t] > 0 -> queued[t]--; printf("a task of tunnel %d is got\n", t) }
#define END_TASK(t) open_tasks[t]--; finished[t]++
#define SPAWN_INTO(t) atomic { may_spawn > 0 -> may_spawn--; open_tasks[t]++ } PUT(t)

proctype Source(byte t) {
  PUT(t);
  writers[t]--;
  returned++
}

#if defined(BUILD_PROBE)
#define TUNNELS 2
#define PROCESSES 5
proctype J() {
  do
  :: TAKE(0) END_TASK(0)
  :: ended[0] -> break
  od;
  do
  :: TAKE(1) END_TASK(1)
  :: ended[1] -> break
  od;
  returned++
}
#elif defined(MIXED)
#define TUNNELS 2
#define PROCESSES 5
proctype J() {
  do
  :: TAKE(0)
     if
     :: SPAWN_INTO(1)
     :: skip
     fi;
     END_TASK(0)
  :: TAKE(1)
     if
     :: SPAWN_INTO(1)
     :: skip
     fi;
     END_TASK(1)
  :: ended[0] && ended[1] -> break
  od;
  returned++
}
#elif defined(GROUP)
#define TUNNELS 3
#define PROCESSES 5
proctype Group() {
  do
  :: TAKE(0)
     if
     :: SPAWN_INTO(1)
     :: skip
     fi;
     END_TASK(0)
  :: TAKE(2) END_TASK(2)
  :: ended[0] && ended[2] -> break
  od;
  writers[1]--;
  returned++
}
proctype X() {
  do
  :: TAKE(1)
     if
     :: SPAWN_INTO(2)
     :: skip
     fi;
     END_TASK(1)
  :: ended[1] -> break
  od;
  PUT(2);
  writers[2]--;
  returned++
}
#else
#define TUNNELS 2
#define PROCESSES 6
proctype R1() {
  do
  :: TAKE(0)
     if
     :: SPAWN_INTO(0)
     :: skip
     fi;
     END_TASK(0)
  :: ended[0] -> break
  od;
  returned++
}
proctype R2() {
  do
  :: TAKE(0)
     if
     :: SPAWN_INTO(1)
     :: skip
     fi;
     open_tasks[0]--; finished_second++
  :: ended[0] -> break
  od;
  PUT(1);
  writers[1]--;
  returned++
}
proctype Last() {
  do
  :: TAKE(1) END_TASK(1)
  :: ended[1] -> break
  od;
  returned++
}
#endif

// Upstream of a gate: what inside writers read besides the unit, or what outside writers in item form read.
#if defined(UNIT_OF_STAGE)  // all that J reads
#define GATE(t) (writers[0] + writers[1] == 0)
#elif defined(GROUP_IS_ONE_NODE)  // 0, 1 and 2 then are one cycle
#define GATE(t) (writers[0] == 0)
#elif defined(MIXED) && !defined(UPSTREAM_IGNORED)
#define GATE(t) (writers[t] == 0 && (t == 0 || ended[0]))
#elif defined(GROUP) && !defined(CLOSED_WHEN_THE_KERNEL_RETURNS)
#define GATE(t) (t == 1 -> ended[0] : writers[t] == 0)
#else
#define GATE(t) (writers[t] == 0)
#endif

#if defined(UNIT_OF_STAGE) || defined(GROUP_IS_ONE_NODE)
#define ONE_UNIT 1
#else
#define ONE_UNIT 0
#endif

// Round all units whose gate is open.
proctype Checker() {
  byte t = TUNNELS - 1, finished_sum, created_sum, ended_units;
  do
  :: ended_units == TUNNELS -> break
  :: else ->
     t = (t + 1) % TUNNELS;
#ifdef WAITS_FOR_ONE_UNIT  // in an order that the graph allows: 0 and 1 are unordered
     t = TUNNELS - 1 - ended_units;
     GATE(t);
#endif
     if
     :: !ended[t] && GATE(t) ->
        if
        :: ONE_UNIT ->
           finished_sum = finished[0]; finished_sum = finished_sum + finished[1];
           finished_sum = finished_sum + finished[2];
           created_sum = claimed[0]; created_sum = created_sum + claimed[1]; created_sum = created_sum + claimed[2]
        :: else ->
           finished_sum = finished[t];
#ifndef ONE_READING_STAGE_SUMMED
           finished_sum = finished_sum + (t == 0 -> finished_second : 0);
#endif
           created_sum = claimed[t]
        fi;
        if
        :: finished_sum == created_sum && ONE_UNIT -> atomic {
             ended[0] = 1; ended[1] = 1; ended[2] = 1; ended_units = TUNNELS;
             printf("all have ended: %d created, %d finished\n", created_sum, finished_sum);
             assert(open_tasks[0] + open_tasks[1] + open_tasks[2] == 0)
           }
        :: finished_sum == created_sum && !ONE_UNIT -> atomic {
             ended[t] = 1; ended_units++;
             printf("tunnel %d has ended: %d created, %d finished\n", t, created_sum, finished_sum);
             assert(open_tasks[t] == 0)
           }
        :: else
        fi
     :: else
     fi
  od;
  returned++
}

init {
  atomic {
    open_tasks[0] = 1; open_tasks[1] = 1; writers[0] = 1; writers[1] = 1; writers[2] = 1;
    run Source(0); run Checker();
#if defined(BUILD_PROBE) || defined(MIXED)
    run Source(1); run J()
#elif defined(GROUP)
    open_tasks[1] = 0; open_tasks[2] = 1;
    run Group(); run X()
#else
    run R1(); run R2(); run Last()
#endif
  }
  returned == PROCESSES - 1;
  assert(queued[0] + queued[1] + queued[2] == 0);
  returned++
}
#ifdef LIVE
ltl returns { <> (returned == PROCESSES) }
#endif
