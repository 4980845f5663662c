// pipeline.pml: three units one after the other, with a cycle, spilling, last results and a stage that stages its puts.
// Rules "Gate", "Closing", "Spill", "Finished", "Put", "Abort" of docs/termination.md; T1 to T3 and T6 of
// include/hiway/termination.hpp.
//
//   source -> tunnel 0 -> U -> tunnel 1 -> A -> tunnel 2 -> B -> tunnel 1 (the cycle), B -> tunnel 3 -> reader
//
// Units: 0 = {tunnel 0}, 1 = {tunnels 1 and 2, their spill pools}, 2 = {tunnel 3}. U and B are loops and put one last
// result after them. Tunnels 1 and 2 spill when they are full; 0 and 3 wait.
//
//   ghost     open_tasks[u]: work of unit u not yet ended, last results included
//   safety    when unit u's end is announced, open_tasks[u] is 0; no legal put is refused
//   liveness  (LIVE) every process returns
//
// Scenarios: WORKERS 2 (threads of U), STAGED (A's puts become visible later), BATCHES, FAULT_IN_A, FAULT_IN_U,
// UNWINDING_CLOSES (a faulting U closes its inlet; harmless because abort is read after the gate).
#ifndef WORKERS
#define WORKERS 1
#endif
#ifndef SPAWN
#define SPAWN 2
#endif
#define CAPACITY 1
#define UNIT(tunnel) (tunnel == 0 -> 0 : (tunnel == 3 -> 2 : 1))
#define PROCESSES (WORKERS + 8)

byte queued[4], room[4], claimed[4], finished[4];
byte pooled[4], pool_claimed[4], pool_drained[4];
byte closed[3], open_tasks[3], may_spawn = SPAWN, returned;
bool ended[3], aborted;
#ifdef CLOSED_WORD_PER_TUNNEL
bool tunnel_closed[4];
#define REFUSED(tunnel) (tunnel_closed[tunnel] || ended[UNIT(tunnel)])
#else
#define REFUSED(tunnel) ended[UNIT(tunnel)]
#endif

inline put(tunnel) {
  if
  :: atomic { room[tunnel] > 0 -> room[tunnel]-- }
     claimed[tunnel]++;
     assert(!REFUSED(tunnel));
     queued[tunnel]++; printf("an item put into tunnel %d\n", tunnel)
  :: atomic { UNIT(tunnel) == 1 && room[tunnel] == 0 -> skip }
#ifndef SPILL_COUNTED_WHEN_DRAINED
     pool_claimed[tunnel]++;
#endif
     assert(!REFUSED(tunnel));
     pooled[tunnel]++; printf("an item spilled at tunnel %d\n", tunnel)
  :: aborted -> goto leave
  fi
}

inline take(tunnel) {
  queued[tunnel]--; room[tunnel]++; printf("the reader of tunnel %d gets a task\n", tunnel)
}

// All processes that call it have `pending` and, for a stage that stages its puts, `staged`.
inline end_tasks(tunnel) {
#if defined(STAGED) && !defined(FLUSH_BEFORE_DRAIN)
  do
  :: staged > 0 -> put(2); staged--
  :: else -> break
  od;
#endif
  finished[tunnel] = finished[tunnel] + pending; pending = 0;
  printf("the reader of tunnel %d has counted its ended tasks\n", tunnel);
#ifdef FLUSH_BEFORE_DRAIN
  do
  :: staged > 0 -> put(2); staged--
  :: else -> break
  od
#endif
}

inline task_ended(tunnel) {
  atomic { open_tasks[UNIT(tunnel)]--; pending++ }
#ifdef BATCHES
  if
  :: pending == 2 -> end_tasks(tunnel)
  :: else
  fi
#else
  end_tasks(tunnel)
#endif
}

#if defined(BATCHES) && !defined(NO_FLUSH_WHEN_IDLE)
#define FLUSH_WHEN_IDLE(tunnel) :: atomic { queued[tunnel] == 0 && pending > 0 -> skip } end_tasks(tunnel)
#else
#define FLUSH_WHEN_IDLE(tunnel)
#endif
#define SPAWN_IN(unit) atomic { may_spawn > 0 -> may_spawn--; open_tasks[unit]++ }

proctype Source() {
  byte pending, staged;
  put(0);
  closed[0]++;
leave:
  returned++
}

proctype U() {
  byte pending, staged;
  do
  :: atomic { queued[0] > 0 -> take(0) }
     if
     :: SPAWN_IN(1) put(1)
     :: skip
     fi;
     task_ended(0)
  FLUSH_WHEN_IDLE(0)
  :: ended[0] -> break
  :: aborted -> goto leave
  od;
#ifdef FAULT_IN_U
  if
  :: printf("U faults before its last result\n");
#ifdef FLAG_SET_AFTER_UNWINDING
     closed[1]++; aborted = 1;
#else
     aborted = 1;
#ifdef UNWINDING_CLOSES
     closed[1]++;
#endif
#endif
     goto leave
  :: skip
  fi;
#endif
  put(1); printf("U has put its last result\n");
  closed[1]++;
leave:
  returned++
}

proctype A() {
  byte pending, staged;
  do
  :: atomic { queued[1] > 0 -> take(1) }
#ifdef FAULT_IN_A
     if
     :: atomic { !aborted -> aborted = 1; printf("A faults\n") }
#ifdef UNWINDING_COUNTS_FINISHED
        finished[1]++; printf("unwinding counts the task as finished\n");
#endif
        goto leave
     :: skip
     fi;
#endif
     if
     :: SPAWN_IN(1)
#ifdef STAGED
        staged++
#else
        put(2)
#endif
     :: skip
     fi;
     task_ended(1)
  FLUSH_WHEN_IDLE(1)
  :: ended[1] -> break
  :: aborted -> goto leave
  od;
leave:
  returned++
}

proctype B() {
  byte pending, staged;
  do
  :: atomic { queued[2] > 0 -> take(2) }
     if
     :: SPAWN_IN(1) put(1)
     :: SPAWN_IN(2) put(3)
     :: skip
     fi;
     task_ended(2)
  FLUSH_WHEN_IDLE(2)
  :: ended[1] -> break
  :: aborted -> goto leave
  od;
  put(3); printf("B has put its last result\n");
  closed[2]++;
leave:
  returned++
}

proctype Reader() {
  byte pending, staged;
  do
  :: atomic { queued[3] > 0 -> take(3) } task_ended(3)
  FLUSH_WHEN_IDLE(3)
  :: ended[2] || aborted -> break
  od;
leave:
  returned++
}

proctype Drain(byte tunnel) {
  do
  :: atomic { pooled[tunnel] > 0 && room[tunnel] > 0 -> pooled[tunnel]--; room[tunnel]--;
              printf("a drain begins at tunnel %d\n", tunnel) }
#if defined(DRAIN_FINISHES_FIRST)
     pool_drained[tunnel]++; claimed[tunnel]++; queued[tunnel]++
#elif defined(SPILL_COUNTED_WHEN_DRAINED)
     claimed[tunnel]++; queued[tunnel]++
#else
     claimed[tunnel]++; queued[tunnel]++; pool_drained[tunnel]++
#endif
  :: ended[1] || aborted -> break
  od;
  returned++
}

#define ADD(sum, word) sum = sum + word
proctype Checker() {
  byte unit, finished_sum, created_sum;
  do
  :: unit < 3 ->
#ifdef CHECKED_AFTER_UPSTREAM_ENDED  // not after its return
     if
     :: unit > 0 || closed[0] == 1
#else
     if
#ifdef FIRST_CLOSE_IS_ENOUGH
     :: closed[unit] >= 1
#else
     :: closed[unit] == (unit == 1 -> WORKERS : 1)
#endif
#endif
     :: aborted -> goto leave
     fi;
#ifdef CLOSED_WORD_PER_TUNNEL
     tunnel_closed[(unit == 2 -> 3 : unit)] = 1;
#endif
     printf("the gate of unit %d opens\n", unit);
     do
#ifdef ABORT_NOT_READ_AFTER_GATE
     :: true ->
#else
     :: aborted -> goto leave  // T6
     :: else ->
#endif
        finished_sum = 0; created_sum = 0;
        if
        :: unit == 0 -> ADD(finished_sum, finished[0]); ADD(created_sum, claimed[0])
        :: unit == 2 -> ADD(finished_sum, finished[3]); ADD(created_sum, claimed[3])
        :: unit == 1 ->
#ifdef CREATED_FIRST
           ADD(created_sum, claimed[1]); ADD(created_sum, claimed[2]);
           ADD(created_sum, pool_claimed[1]); ADD(created_sum, pool_claimed[2]);
#endif
           ADD(finished_sum, finished[1]); ADD(finished_sum, finished[2]);
#ifndef SPILL_NOT_SUMMED
           ADD(finished_sum, pool_drained[1]); ADD(finished_sum, pool_drained[2]);
#endif
#ifndef CREATED_FIRST
           ADD(created_sum, claimed[1]); ADD(created_sum, claimed[2]);
#ifndef SPILL_NOT_SUMMED
           ADD(created_sum, pool_claimed[1]); ADD(created_sum, pool_claimed[2]);
#endif
#endif
           skip
        fi;
        if
        :: finished_sum == created_sum -> atomic {
             ended[unit] = 1;
             printf("unit %d has ended: %d created, %d finished\n", unit, created_sum, finished_sum);
             assert(open_tasks[unit] == 0);
             unit++
           }
           break
        :: else
        fi
     od
  :: else -> break
  od;
leave:
  returned++
}

init {
  atomic {
    open_tasks[0] = 1; open_tasks[1] = WORKERS; open_tasks[2] = 1;
    room[0] = CAPACITY; room[1] = CAPACITY; room[2] = CAPACITY; room[3] = CAPACITY;
    run Source(); run U(); run A(); run B(); run Reader(); run Drain(1); run Drain(2); run Checker();
#if WORKERS == 2
    run U();
#endif
  }
  returned == PROCESSES - 1;
  assert(aborted || ended[2]);
  returned++
}
#ifdef LIVE
ltl returns { <> (returned == PROCESSES) }
#endif
