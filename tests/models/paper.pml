// paper.pml: why the check does not count active tasks, as the paper's text has it. Rule "Check" of docs/termination.md.
//
// Like check.pml, but each home has one word `active_tasks` that a put increments, an ended task decrements, and a
// transfer moves; the end is when all are zero. Sound only as here: the transfer adds at the destination before it
// deducts at the source, and all words are read in one step, which no machine with two homes offers.
//
//   ghost     open_tasks: tasks not yet ended, and puts that the source has still to do
//   safety    when the end is announced, open_tasks is 0
//   liveness  (LIVE) every process returns
#ifndef SPAWN
#define SPAWN 2
#endif
#define PROCESSES 7

byte queued[2], outbox[2], may_spawn = SPAWN, open_tasks = 1, returned;
short active_tasks[2];
bool closed, ended;
#if defined(COUNTED_AFTER_THE_MARKER)
#define COUNTS(home) closed
#elif defined(OCCUPANCY_AT_THE_MARKER)
bool counting[2];
#define COUNTS(home) counting[home]
#else
#define COUNTS(home) true
#endif
#define ADD(home, n) active_tasks[home] = active_tasks[home] + (COUNTS(home) -> n : 0)
#define PUT(where, home) ADD(home, 1); where[home]++; printf("an item put at home %d\n", home)

proctype Source() {
  PUT(queued, 0);
  closed = 1; returned++
}

proctype Worker(byte home) {
  do
  :: atomic { queued[home] > 0 && !ended -> queued[home]--; printf("worker %d gets a task\n", home) }
     do
     :: atomic { may_spawn > 0 -> may_spawn--; open_tasks++ }
        if
        :: PUT(queued, home)
        :: PUT(outbox, home)
        fi
     :: break
     od;
     open_tasks--;
     ADD(home, -1)
  :: ended -> break
  od;
  returned++
}

proctype Transfer(byte home) {
  byte items;
  do
  :: atomic { outbox[home] > 0 && !ended -> items = outbox[home]; outbox[home] = 0 }
#ifdef DEDUCTED_FIRST
     ADD(home, -items); ADD(1 - home, items); queued[1 - home] = queued[1 - home] + items;
#else
     ADD(1 - home, items); queued[1 - home] = queued[1 - home] + items; ADD(home, -items);
#endif
     printf("the items of home %d's outbox arrive\n", home); items = 0
  :: ended -> break
  od;
  returned++
}

proctype Checker() {
  bool all_zero;
  closed;
#ifdef OCCUPANCY_AT_THE_MARKER
  atomic { active_tasks[0] = queued[0] + outbox[0]; counting[0] = 1 }
  atomic { active_tasks[1] = queued[1] + outbox[1]; counting[1] = 1 }
#endif
  do
  :: ended -> break
  :: else ->
#if defined(READ_ONCE) || defined(READ_TWICE) || defined(READ_THREE_TIMES)
     all_zero = (active_tasks[0] == 0); all_zero = all_zero && active_tasks[1] == 0;
#if defined(READ_TWICE) || defined(READ_THREE_TIMES)
     all_zero = all_zero && active_tasks[0] == 0; all_zero = all_zero && active_tasks[1] == 0;
#endif
#ifdef READ_THREE_TIMES
     all_zero = all_zero && active_tasks[0] == 0; all_zero = all_zero && active_tasks[1] == 0;
#endif
#else
     all_zero = (active_tasks[0] == 0 && active_tasks[1] == 0);
#endif
     if
     :: all_zero -> atomic { ended = 1; printf("the end is announced\n"); assert(open_tasks == 0) }
     :: else
     fi
  od;
  returned++
}

init {
  atomic { run Source(); run Worker(0); run Worker(1); run Transfer(0); run Transfer(1); run Checker() }
  returned == PROCESSES - 1;
  returned++
}
#ifdef LIVE
ltl returns { <> (returned == PROCESSES) }
#endif
