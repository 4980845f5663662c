// check.pml: the check over one unit with a part at each home. Rules "Check", "Put", "Finished" and "Gate" of
// docs/termination.md; T1 to T4 and the misuse "one end_task too many" of include/hiway/termination.hpp.
//
// Two homes, 0 and 1. A worker gets a task of its own home; for each it puts up to SPAWN more (all workers together),
// into its own home's queue or into the outbox, which a transfer carries to the other home and counts nothing.
//
//   ghost     open_tasks: tasks created and not ended, and puts that the sources have still to do
//   safety    when the end is announced, open_tasks is 0 and every source has closed; wait() returns without a fault
//             only when nothing is queued
//   liveness  (LIVE) every process returns
//
// Scenarios: SOURCES 2, BATCHES (finished is counted two at a time), TWICE (one end_task too many), COPY_FAILS.
#ifndef SOURCES
#define SOURCES 1
#endif
#ifndef SPAWN
#define SPAWN 2
#endif
#ifdef FIRST_SOURCE_CLOSES
#define CLOSERS_NEEDED 1
#else
#define CLOSERS_NEEDED SOURCES
#endif
#define PROCESSES (SOURCES + 6)

byte queued[2], outbox[2];
byte created[2], finished[2], got[2];
byte closed, returned, may_spawn = SPAWN, open_tasks = SOURCES;
bool ended, aborted;
#ifdef TWICE
bool may_misuse = 1;
#endif
#ifdef COPY_FAILS
bool may_fail = 1;
#endif

// T4: counted before it is visible. (A macro: an inline takes no array by name.)
#ifdef VISIBLE_BEFORE_COUNTED
#define put(where, home) where[home]++; created[home]++; printf("an item put at home %d\n", home)
#else
#define put(where, home) created[home]++; where[home]++; printf("an item put at home %d\n", home)
#endif

inline end_tasks(home, count) {
  finished[home] = finished[home] + count;
#ifndef NOT_COMPARED_WITH_GOT
  if
  :: finished[home] > got[home] -> aborted = 1; printf("worker %d ended a task too many: fault\n", home); break
  :: else
  fi
#endif
}

proctype Source() {
  put(queued, 0);
  closed++;
  returned++
}

proctype Worker(byte home) {
  byte pending = 0;
  do
  :: atomic { queued[home] > 0 && !ended -> queued[home]--; got[home]++; printf("worker %d gets a task\n", home) }
#ifdef ENDED_BEFORE_LAST_PUT
     end_tasks(home, 1);
#endif
     do
     :: atomic { may_spawn > 0 -> may_spawn--; open_tasks++ }
        if
        :: put(queued, home)
        :: put(outbox, home)
        fi
     :: break
     od;
     open_tasks--;
#ifdef BATCHES
     pending++;
     if
     :: pending == 2 -> end_tasks(home, pending); pending = 0
     :: else
     fi
#elif !defined(ENDED_BEFORE_LAST_PUT)
     end_tasks(home, 1);  // T1: after the task's puts
     printf("worker %d has ended a task\n", home)
#endif
#ifdef TWICE
     if
     :: atomic { may_misuse -> may_misuse = 0 } end_tasks(home, 1)
     :: skip
     fi
#endif
#if defined(BATCHES) && !defined(NO_FLUSH_WHEN_IDLE)
  :: atomic { queued[home] == 0 && pending > 0 -> skip } end_tasks(home, pending); pending = 0
#endif
  :: ended || aborted -> break
  od;
  returned++
}

proctype Transfer(byte home) {
  byte items;
  do
  :: atomic { outbox[home] > 0 && !ended -> items = outbox[home]; outbox[home] = 0 }
#ifdef COPY_FAILS
     if
     :: may_fail -> may_fail = 0; items = 0; printf("the copy from home %d fails\n", home);
#ifndef FAILED_COPY_UNNOTICED
        aborted = 1
#endif
     :: skip
     fi;
#endif
     queued[1 - home] = queued[1 - home] + items; items = 0;
     printf("the items of home %d's outbox arrive\n", home)
  :: ended || aborted -> break
  od;
  returned++
}

proctype Checker() {
  byte created_sum, finished_sum;
  closed >= CLOSERS_NEEDED || aborted;  // T3
  printf("the gate opens\n");
  do
  :: aborted -> break  // T6
  :: else ->
     // T2: every finished, then every created
#if defined(CREATED_FIRST)
     created_sum = created[0]; created_sum = created_sum + created[1];
     finished_sum = finished[0]; finished_sum = finished_sum + finished[1];
#elif defined(INTERLEAVED)
     finished_sum = finished[0]; created_sum = created[0];
     finished_sum = finished_sum + finished[1]; created_sum = created_sum + created[1];
#else
     finished_sum = finished[0]; finished_sum = finished_sum + finished[1];
     created_sum = created[0]; created_sum = created_sum + created[1];
#endif
     if
     :: finished_sum == created_sum && !aborted -> atomic {
          ended = 1;
          printf("the end is announced: %d created, %d finished\n", created_sum, finished_sum);
#ifndef TWICE  // there the fault may be recorded after the announcement; wait() looks
          assert(open_tasks == 0 && closed == SOURCES)
#endif
        }
        break
     :: finished_sum > created_sum -> aborted = 1
     :: else
     fi
  od;
  returned++
}

init {
  atomic {
    run Source();
#if SOURCES == 2
    run Source();
#endif
    run Worker(0); run Worker(1); run Transfer(0); run Transfer(1); run Checker()
  }
  returned == PROCESSES - 1;  // Pipeline::wait()
#ifdef END_WINS_OVER_FAULT
#define FAULTED (aborted && !ended)
#else
#define FAULTED aborted
#endif
  assert(FAULTED || open_tasks + queued[0] + queued[1] + outbox[0] + outbox[1] == 0);
  returned++
}
#ifdef LIVE
ltl returns { <> (returned == PROCESSES) }
#endif
