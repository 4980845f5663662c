// delegate.pml: the check over several devices. Rule "Several devices" of docs/termination.md; T2, T3, T5, T6 and T8 of
// include/hiway/termination.hpp.
//
// A ring of homes: the stage of each gets what the home before it puts. Home 0 has the checker, each other one a delegate,
// which is asked by words in the host's memory. The whole ring is one unit; a source at home 1 puts into it, so that the
// delegate there has to tell its gate. Of the words of a home `claimed` and `closed` are of the tunnel that is put there,
// `finished` and `ended` of the one that is got there.
//
//   ghost     open_tasks[u]: unit u's tasks that are not ended, and puts that must still come; over[u]: its end is told
//   safety    when a unit's end is told its open_tasks are 0; behind it no put is granted; where nobody puts late none is
//             refused or called late; without a fault or an abort nothing is left queued
//   liveness  (LIVE) every process returns
//
// Room, credit and transfers are bus.pml's. Questions are numbered by a bit: each waits for the answers to the one before,
// or it is the last.
//
// Scenarios: HOMES 3
//   CHAIN        source -> home 0 -> a loop at home 1 -> a sink at home 0: two units; the loop puts a last result
//   LINES        a line each way: two units that end in any order; nothing is put into the second
//   LATE=home    somebody there puts for no task: misuse
//   FAULT=home   any task there may fault
//   ABORT        the host aborts, at any time
//   HEARD_LATE   a wait for answers sees the host's abort; all else at the checker's home when another warp has heard of it
//   ONE_QUESTION for finished and created together: enough for two homes
#ifndef HOMES
#define HOMES 2
#endif
#ifndef ITEMS
#define ITEMS 2
#endif
#ifndef SPAWN
#define SPAWN 2
#endif
#ifdef LATE
#define LATE_PUTS 1
#else
#define LATE_PUTS 0
#endif
#ifndef FAULT
#define FAULT HOMES  // nowhere
#endif
#ifdef LINES
#define SOURCES 2
#else
#define SOURCES 1
#endif
#ifdef HEARD_LATE
#define HEARERS 1
#else
#define HEARERS 0
#endif
#define PROCESSES (SOURCES + 2 * HOMES + 2 + LATE_PUTS + HEARERS)
#define CHECKER 0
#define NEXT(home) ((home + 1) % HOMES)

#if defined(CHAIN) || defined(LINES)
#define UNITS 2
#define PUT_UNIT(home) home  // of the tunnel that is put there
#define GOT_UNIT(home) (1 - home)
#else
#define UNITS 1
#define PUT_UNIT(home) 0
#define GOT_UNIT(home) 0
#endif
#if defined(CHAIN)
#define FIRST_SOURCE 0
#define HANDS_ON(home) (home != CHECKER)
#elif defined(LINES)
#define FIRST_SOURCE 0
#define HANDS_ON(home) false
#else
#define FIRST_SOURCE 1
#define HANDS_ON(home) true
#endif
#define LAST (UNITS - 1)  // its gate is at home 1

mtype = { sum_finished, sum_created, sum_both, close, end };

// At each home.
byte claimed[HOMES], queued[HOMES], finished[HOMES];
bool closed[HOMES], ended[HOMES], aborted[HOMES], gate[UNITS];
// In the host's memory.
mtype question;
bool question_unit, gate_told, faulted, host_aborted, all_ended;
bit question_number, answer_number[HOMES];
byte answer[HOMES], answer_too[HOMES];

byte may_spawn = SPAWN, open_tasks[UNITS], returned;
bool over[UNITS];

#define FINISHED(home, unit) (GOT_UNIT(home) == unit -> finished[home] : 0)
#define CREATED(home, unit) (PUT_UNIT(home) == unit -> claimed[home] : 0)
#define SET(words, home, is_of_unit) words[home] = words[home] || is_of_unit

inline refuse_late_put(home) {
  if
  :: closed[home] -> assert(LATE_PUTS); aborted[home] = 1; printf("home %d: a put is refused\n", home); goto leave
  :: else
  fi
}

// `tasks`: 1 when the item was not expected.
inline put(home, tasks) {
#ifdef CLOSED_THEN_TICKET
  refuse_late_put(home);
  claimed[home]++;
#else
  claimed[home]++;  // T5: ticket, then closed
  refuse_late_put(home);
#endif
  d_step {
    queued[NEXT(home)]++; open_tasks[PUT_UNIT(home)] = open_tasks[PUT_UNIT(home)] + tasks;
    printf("home %d: an item is put\n", home);
    assert(!over[PUT_UNIT(home)])
  }
}

proctype Source(byte home; byte items) {
  do
  :: items > 0 -> put(home, 0); items--
  :: else -> break
  od;
  gate[PUT_UNIT(home)] = 1;
leave:
  returned++
}

#ifdef LATE
proctype LatePut() {
  put(LATE, 1);
leave:
  returned++
}
#endif

proctype Stage(byte home) {
  do
  :: atomic { queued[home] > 0 && !ended[home] && !aborted[home] -> queued[home]--; printf("home %d: a task is got\n", home) }
     if
     :: atomic { HANDS_ON(home) && may_spawn > 0 -> may_spawn--; open_tasks[PUT_UNIT(home)]++ } put(home, 0)
     :: home == FAULT -> aborted[home] = 1; printf("home %d: a task faults\n", home); goto leave
     :: skip
     fi;
     d_step { finished[home]++; open_tasks[GOT_UNIT(home)]--; printf("home %d: a task is ended\n", home) }
  :: ended[home] -> break
  :: aborted[home] -> goto leave
  od;
#ifdef CHAIN
  if
  :: HANDS_ON(home) -> put(home, 0); gate[PUT_UNIT(home)] = 1; printf("home %d: the last result is put\n", home)
  :: else
  fi;
#endif
leave:
  returned++
}

#if defined(GATE_TOLD_WHEN_UPSTREAM_ENDED)
#define GATE_OPEN ended[1]
#else
#define GATE_OPEN gate[LAST]
#endif
proctype Delegate(byte home) {
  bit asked;
  byte ends;
  do
  :: atomic { host_aborted || aborted[home] -> aborted[home] = 1 }  // hears of the host's abort, or tells of its own fault
#ifndef FAULT_NOT_TOLD
     faulted = 1;
#endif
     break
  :: !host_aborted && !aborted[home] ->
     if
     :: home == 1 && GATE_OPEN && !gate_told -> gate_told = 1; printf("home 1: the gate is open\n")
     :: question_number != asked ->
        asked = question_number;
#ifdef NUMBER_BEFORE_ANSWER
        answer_number[home] = asked;
#endif
        if
        :: question == sum_finished -> answer[home] = FINISHED(home, question_unit)
        :: question == sum_created -> answer[home] = CREATED(home, question_unit)
        :: question == close ->
#ifdef CREATED_BEFORE_CLOSED
           answer[home] = CREATED(home, question_unit);
           SET(closed, home, PUT_UNIT(home) == question_unit)
#else
           SET(closed, home, PUT_UNIT(home) == question_unit);  // T5
           answer[home] = CREATED(home, question_unit)
#endif
        :: question == end -> atomic {
             assert(over[question_unit]);
             SET(ended, home, GOT_UNIT(home) == question_unit);
             ends++
           }
#ifdef ONE_QUESTION
        :: question == sum_both ->
           answer[home] = FINISHED(home, question_unit); answer_too[home] = CREATED(home, question_unit)
#endif
        fi;
        printf("home %d: answers %e\n", home, question);
#ifdef LEAVES_UNANSWERED
        if
        :: ends == UNITS -> break
        :: else
        fi;
#endif
#ifndef NUMBER_BEFORE_ANSWER
        answer_number[home] = asked;  // T8
#endif
        if
        :: ends == UNITS -> break
        :: else
        fi
     :: host_aborted || aborted[home]
     fi
  od;
  returned++
}

#if defined(ANY_ANSWER_TAKEN)
#define ANSWERED(other) true
#elif defined(FIRST_ANSWER_IS_ENOUGH)
#define ANSWERED(other) (other > 1 || answer_number[other] == asked)
#else
#define ANSWERED(other) (answer_number[other] == asked)
#endif
inline ask(what) {
  asked = 1 - asked;
#ifdef NUMBER_BEFORE_QUESTION
  question_number = asked;
  question_unit = unit; question = what;
#else
  question_unit = unit; question = what;
  question_number = asked;  // T8
#endif
  for (other : 1 .. HOMES - 1) {
    if
    :: ANSWERED(other) ->
       sum = sum + answer[other]; created_too = created_too + answer_too[other]
#ifndef ABORT_NOT_READ_IN_WAIT
    :: host_aborted ->
#ifdef ASKS_AGAIN
       goto next_round
#else
       goto given_up  // T8
#endif
#endif
    fi
  }
}

#ifdef HEARD_LATE
#define ABORTED aborted[CHECKER]
proctype Hear() {
  if
  :: host_aborted -> aborted[CHECKER] = 1; printf("the checker's home hears of the abort\n")
  :: all_ended
  fi;
  returned++
}
#else
#define ABORTED (host_aborted || aborted[CHECKER])
#endif
#ifdef GATE_NOT_AWAITED
#define OPEN(unit) (!done[unit])
#else
#define OPEN(unit) (!done[unit] && (unit == LAST -> gate_told : gate[unit]))  // T3
#endif

// The end of the unit is told at the checker's home, the first.
inline announce() {
  atomic {
    printf("the end of unit %d is told: %d created, %d finished\n", unit, created_seen, finished_seen);
    over[unit] = 1;
    SET(ended, CHECKER, GOT_UNIT(CHECKER) == unit);
#ifndef ENDED_BEFORE_CLOSE_IS_ANSWERED
    assert(open_tasks[unit] == 0)
#endif
  }
}

proctype Checker() {
  bit asked;
  bool unit, done[UNITS];
  byte other, sum, created_too, finished_seen, created_seen;
next_round:
  do
  :: ABORTED -> break  // T6
  :: else ->
     if
     :: OPEN(0) -> unit = 0
#if UNITS == 2
     :: OPEN(1) -> unit = 1
#endif
     :: ABORTED -> break
     fi;
#if defined(CREATED_FIRST)
     sum = CREATED(CHECKER, unit); ask(sum_created); created_seen = sum;
     sum = FINISHED(CHECKER, unit); ask(sum_finished); finished_seen = sum;
#elif defined(HOME_BY_HOME)
     finished_seen = FINISHED(CHECKER, unit); created_seen = CREATED(CHECKER, unit);
     sum = finished_seen; ask(sum_finished); finished_seen = sum;
     sum = created_seen; ask(sum_created); created_seen = sum;
#elif defined(ONE_QUESTION)
     sum = FINISHED(CHECKER, unit); created_too = 0; ask(sum_both); finished_seen = sum;
     created_seen = created_too + CREATED(CHECKER, unit);
#else
     sum = FINISHED(CHECKER, unit); ask(sum_finished); finished_seen = sum;
     sum = CREATED(CHECKER, unit); ask(sum_created); created_seen = sum;  // T2
#endif
     if
     :: finished_seen != created_seen || aborted[CHECKER] -> goto next_round
     :: else
     fi;
     SET(closed, CHECKER, PUT_UNIT(CHECKER) == unit);  // T5
#ifdef ENDED_BEFORE_CLOSE_IS_ANSWERED
     announce();
#endif
#ifdef CLOSE_NOT_ASKED
     sum = 0; ask(sum_created);
#else
     sum = 0; ask(close);
#endif
     sum = sum + CREATED(CHECKER, unit);
     if
     :: sum != created_seen ->
        aborted[CHECKER] = 1; printf("put without a task\n");
        assert(LATE_PUTS);
        goto next_round
     :: else
     fi;
#ifndef ENDED_BEFORE_CLOSE_IS_ANSWERED
     announce();
#endif
     ask(end);
     done[unit] = 1;
     if
     :: done[0] && done[LAST] -> all_ended = 1; goto leave
     :: else
     fi
  od;
given_up:
  ABORTED;
  aborted[CHECKER] = 1; faulted = 1;
leave:
  returned++
}

proctype Host() {
  if
  :: faulted -> host_aborted = 1
#ifdef ABORT
  :: host_aborted = 1; printf("the host aborts\n")
#endif
  :: all_ended
  fi;
  returned++
}

init {
  byte home;
  atomic {
    open_tasks[PUT_UNIT(FIRST_SOURCE)] = ITEMS;
    run Source(FIRST_SOURCE, ITEMS); run Checker(); run Host();
#if defined(CHAIN)
    open_tasks[LAST] = 1;  // the last result
#elif defined(LINES)
    run Source(1, 0);
#endif
#ifdef HEARD_LATE
    run Hear();
#endif
#ifdef LATE
    run LatePut();
#endif
    for (home : 0 .. HOMES - 1) { run Stage(home) }
    for (home : 1 .. HOMES - 1) { run Delegate(home) }
  }
  returned == PROCESSES - 1;
  bool failed = host_aborted;
  for (home : 0 .. HOMES - 1) { failed = failed || aborted[home] }
  for (home : 0 .. HOMES - 1) { assert(failed || queued[home] == 0) }
  returned++
}
#ifdef LIVE
ltl returns { <> (returned == PROCESSES) }
#endif
