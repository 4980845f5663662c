// delegate.pml: the check over several devices. Rule "Several devices" of docs/termination.md; T2, T3, T5, T6 and T8 of
// include/hiway/termination.hpp.
//
// A ring of homes: the stage of each gets what the home before it puts. Home 0 has the checker, each other one a delegate,
// which is asked by a word and answers by a word, each written and read in one step. The whole ring is one unit; a source
// at home 1 puts into it, so that the delegate there has to tell its gate. Of the words of a home `claimed` and `closed` are
// of the tunnel that is put there, `finished` and `ended` of the one that is got there.
//
//   ghost     open_tasks[u]: unit u's tasks that are not ended, and puts that must still come; over[u]: its end is told
//   safety    when a unit's end is told its open_tasks are 0; behind it no put is granted; where nobody puts late none is
//             refused or called late; without a fault or an abort nothing is left queued
//   liveness  (LIVE) every process returns
//
// Room, credit and transfers are bus.pml's. Questions are numbered by a bit: each waits for the answer of that delegate to
// the one before; nobody waits for that to `end` at once.
//
// Scenarios: HOMES 3
//   CHAIN        source -> home 0 -> a loop at each other home -> a sink at home 0: a unit for each home; each loop puts a
//                last result. Of three units one has nothing at home 1 or 2
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
#define UNITS HOMES
#define PUT_UNIT(home) home  // of the tunnel that is put there
#define GOT_UNIT(home) ((home + HOMES - 1) % HOMES)
#define UNITS_HERE 2
#else
#define UNITS_HERE 1
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
#if UNITS == 1
#define GATE_HOME(unit) 1
#else
#define GATE_HOME(unit) unit
#endif

mtype = { sum_finished, sum_created, sum_both, close, end };

// At each home.
byte claimed[HOMES], queued[HOMES], finished[HOMES];
bool closed[HOMES], ended[HOMES], aborted[HOMES], gate[UNITS];
// A question is a word, an answer is: what belongs together changes and is read in one step.
mtype question[HOMES];
byte question_unit[HOMES], answer[HOMES], answer_too[HOMES];
bit question_number[HOMES], answer_number[HOMES];
bool gate_told[UNITS], faulted, host_aborted, all_ended;

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

#define MY_GATE PUT_UNIT(home)
#if defined(GATE_TOLD_WHEN_UPSTREAM_ENDED)
#define GATE_OPEN ended[home]
#else
#define GATE_OPEN gate[MY_GATE]
#endif
proctype Delegate(byte home) {
  bit asked;
  mtype what;
  byte unit, sum, sum_too, ends;
  do
  :: atomic { host_aborted || aborted[home] -> aborted[home] = 1 }  // hears of the host's abort, or tells of its own fault
#ifndef FAULT_NOT_TOLD
     faulted = 1;
#endif
     break
  :: !host_aborted && !aborted[home] ->
     if
     :: GATE_HOME(MY_GATE) == home && GATE_OPEN && !gate_told[MY_GATE] ->
        gate_told[MY_GATE] = 1; printf("home %d: the gate is open\n", home)
     :: d_step { question_number[home] != asked ->
          asked = question_number[home]; what = question[home]; unit = question_unit[home]; sum = 0; sum_too = 0 }
        if
        :: what == sum_finished -> sum = FINISHED(home, unit)
        :: what == sum_created -> sum = CREATED(home, unit)
        :: what == close ->
#ifdef CREATED_BEFORE_CLOSED
           sum = CREATED(home, unit);
           SET(closed, home, PUT_UNIT(home) == unit)
#else
           SET(closed, home, PUT_UNIT(home) == unit);  // T5
           sum = CREATED(home, unit)
#endif
        :: what == end -> atomic {
             assert(over[unit]);
             SET(ended, home, GOT_UNIT(home) == unit);
             ends++
           }
#ifdef ONE_QUESTION
        :: what == sum_both -> sum = FINISHED(home, unit); sum_too = CREATED(home, unit)
#endif
        fi;
        printf("home %d: answers %e of unit %d\n", home, what, unit);
#ifdef NUMBER_BEFORE_ANSWER
        answer_number[home] = asked;
        answer[home] = sum;
#else
        d_step { answer[home] = sum; answer_too[home] = sum_too; answer_number[home] = asked }  // T8
#endif
        d_step { what = 0; unit = 0; sum = 0; sum_too = 0 }
        if
        :: ends == UNITS_HERE -> break
        :: else
        fi
     :: host_aborted || aborted[home]
     fi
  od;
  returned++
}

// What is asked of `other`: nothing of what is not there.
#define GETS(other) (GOT_UNIT(other) == unit)
#define PUTS(other) (PUT_UNIT(other) == unit)
#if defined(CREATED_ASKED_WHERE_IT_IS_GOT)
#define ASKED_OF(other, what) (what == end || what == sum_both -> GETS(other) || PUTS(other) : GETS(other))
#elif defined(END_TOLD_WHERE_IT_IS_GOT)
#define ASKED_OF(other, what) (what == sum_finished || what == end -> GETS(other) : PUTS(other))
#else
#define ASKED_OF(other, what) \
  (what == end || what == sum_both -> GETS(other) || PUTS(other) : (what == sum_finished -> GETS(other) : PUTS(other)))
#endif
#if defined(ANY_ANSWER_TAKEN)
#define ANSWERED(other) true
#elif defined(FIRST_ANSWER_IS_ENOUGH)
#define ANSWERED(other) (other > 1 || answer_number[other] == asked[other])
#else
#define ANSWERED(other) (answer_number[other] == asked[other])
#endif
inline await_answer() {
  if
  :: d_step { !stands[other] || ANSWERED(other) -> stands[other] = 0 }
#ifndef ABORT_NOT_READ_IN_WAIT
  :: host_aborted -> goto next_round
#endif
  fi
}
inline ask(what) {
  for (other : 1 .. HOMES - 1) {
    if
    :: ASKED_OF(other, what) ->
#ifndef ASKS_AGAIN
       await_answer();  // T8
#endif
       asked[other] = 1 - asked[other];
#ifdef NUMBER_BEFORE_QUESTION
       question_number[other] = asked[other];
       question[other] = what; question_unit[other] = unit; stands[other] = 1
#else
       d_step { question[other] = what; question_unit[other] = unit; question_number[other] = asked[other]; stands[other] = 1 }
#endif
    :: else
    fi
  }
}
inline add_answers(what) {
  for (other : 1 .. HOMES - 1) {
    if
    :: ASKED_OF(other, what) ->
       await_answer();  // T8
       d_step { sum = sum + answer[other]; created_too = created_too + answer_too[other] }
    :: else
    fi
  }
}
#define SUM(what, here) ask(what); sum = here; add_answers(what)  // `here` is read while the delegates read theirs

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
#define OPEN(unit) (!done[unit] && (GATE_HOME(unit) == CHECKER -> gate[unit] : gate_told[unit]))  // T3
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
  bit asked[HOMES];
  bool stands[HOMES], done[UNITS];
  byte unit, units_done, other, sum, created_too, finished_seen, created_seen;
next_round:
  do
  :: ABORTED -> break  // T6
  :: else ->
     if
     :: OPEN(0) -> unit = 0
#if UNITS > 1
     :: OPEN(1) -> unit = 1
#endif
#if UNITS > 2
     :: OPEN(2) -> unit = 2
#endif
     :: ABORTED -> break
     fi;
#if defined(CREATED_FIRST)
     SUM(sum_created, CREATED(CHECKER, unit)); created_seen = sum;
     SUM(sum_finished, FINISHED(CHECKER, unit)); finished_seen = sum;
#elif defined(HOME_BY_HOME)
     finished_seen = FINISHED(CHECKER, unit); created_seen = CREATED(CHECKER, unit);
     SUM(sum_finished, finished_seen); finished_seen = sum;
     SUM(sum_created, created_seen); created_seen = sum;
#elif defined(ONE_QUESTION)
     finished_seen = FINISHED(CHECKER, unit); created_too = 0; SUM(sum_both, finished_seen); finished_seen = sum;
     created_seen = created_too + CREATED(CHECKER, unit);
#else
     SUM(sum_finished, FINISHED(CHECKER, unit)); finished_seen = sum;
     SUM(sum_created, CREATED(CHECKER, unit)); created_seen = sum;  // T2
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
     SUM(sum_created, CREATED(CHECKER, unit));
#else
     SUM(close, CREATED(CHECKER, unit));
#endif
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
     done[unit] = 1; units_done++;
     if
     :: units_done == UNITS -> all_ended = 1; goto leave
     :: else
     fi
  od;
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
    for (home : 1 .. HOMES - 1) { open_tasks[PUT_UNIT(home)] = 1 }  // its last result
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
