// scope.pml: a scope, a part of a run's work, ends when all of its tasks have ended. Rules S1 to S7 of
// include/hiway/scope/; docs/termination.md, "Scopes".
//
// A program opens a scope, puts ITEMS items into it from outside, and closes it, SCOPES times. There is one place, so
// the next scope waits until the last one has ended; words of two places have nothing to do with each other. A task
// puts any items, here or elsewhere, then it ends or hands its value to a result; PUTS of these are made in all. So one
// variant stands for all pipelines of that size.
//
//   outstanding  at the host: all values that are anywhere else, and the hold of an open scope
//   reserve      at the host: a part of outstanding, for what the program puts from outside
//   pot          at each device: the counts that its items and tasks have, `live`, and the value that backs them
//   mail         from each device to the host: values of what has ended there
//
//   ghost        items, tasks: of each scope, how many lie or run anywhere; closed; now
//   safety       the end of a scope is announced once, after its close, with no item, task, pot or mail of it left; no
//                value is below 0; a pot suffices for PUTS
//   liveness     (LIVE) every process returns, so the end of every scope is announced. No run can go on for ever, so
//                the search for safety finds what hangs, too
//
// Scenarios: VALUE_FORM, ITEM_FORM (tasks only hand over, only put), ONLY_HERE, ONLY_TO_HOST (where device tasks put),
// INTO (where the program puts: HOST or a device), DEVICES, LANES (of each device), HOST_LANES, SPILL (a put may go
// through a pool), REFUSES (a put may be refused), LENT (the counts that a task has after the pot has lent it some),
// KEEPS (a task that becomes counted may keep a part of its value), EXHAUSTS (a pot may not suffice, which aborts),
// ABORT (at any moment), CLOSED_BESIDE_A_PUT (by another thread), TEAM (the first lane of each device has a mate: the
// two are a team, and have each task together).
#define HOST 0
#define FREE 0    // the place: has no scope; has one; its end is being announced; is not used again in this run
#define OPEN 1
#define ENDING 2
#define SPENT 3
#ifdef FREE_AFTER_ABORT
#define AFTER_ABORT FREE
#else
#define AFTER_ABORT SPENT
#endif
#ifndef ITEMS
#define ITEMS 1
#endif
#ifndef SCOPES
#define SCOPES 1
#endif
#ifndef PUTS
#define PUTS 2
#endif
#ifndef INTO
#define INTO 1
#endif
#ifndef DEVICES
#define DEVICES 1
#endif
#ifndef LANES
#define LANES 1
#endif
#ifndef HOST_LANES
#define HOST_LANES 1
#endif
#ifndef MANY
#define MANY 4  // the value of an item that the host puts to a device
#endif
#ifndef LENT
#define LENT 2
#endif
#define FEW 1   // what a host task adds when its value cannot be shared
#ifdef NO_HOLD
#define HOLD 0
#else
#define HOLD 1
#endif
#ifdef VALUE_FORM
#define MAY_PUT false
#else
#define MAY_PUT true
#endif
#ifdef ITEM_FORM
#define MAY_RESULT false
#else
#define MAY_RESULT true
#endif
#if defined(ONLY_HERE)
#define MAY_GO(to) (home == to)
#elif defined(ONLY_TO_HOST)
#define MAY_GO(to) (home != HOST && to == HOST)
#else
#define MAY_GO(to) true
#endif
#ifdef PUT_IGNORES_CLOSE
#define MAY_TAKE true
#else
#define MAY_TAKE !closed[serial]
#endif
#ifdef CLOSES_BESIDE_GROWTH
#define MAY_CLOSE true
#else
#define MAY_CLOSE !grows
#endif
#ifdef TEAM
#define MATES DEVICES
#else
#define MATES 0
#endif
#ifdef LAST_IS_DRAWN
#define LEFT_IN_POT 0
#else
#define LEFT_IN_POT 1
#endif
#ifdef ENDED_BEFORE_LAST_PUT
#define TASK_ENDS skip
#else
#define TASK_ENDS tasks[serial]--
#endif
#ifdef PUT_IGNORES_ABORT
#define LOOKS false
#else
#define LOOKS true
#endif
#ifdef STAGES_NOT_AWAITED
#define STAGES_RETURNED true
#else
#define STAGES_RETURNED (lanes_returned == LANES * DEVICES + MATES + HOST_LANES)
#endif
#ifdef SPILL
#define DRAINS 1
#else
#define DRAINS 0
#endif
#define PROCESSES (LANES * DEVICES + MATES + HOST_LANES + DRAINS + 3)

typedef Pot { byte live, value }

byte outstanding;
byte place = FREE;
Pot pot[DEVICES + 1];
chan ring[DEVICES + 1] = [PUTS + ITEMS * SCOPES] of { bit, byte, byte };  // ghost: scope; value; counts
chan pool = [2] of { byte, bit, byte, byte };
chan mail[DEVICES + 1] = [1] of { byte };
chan to_mate[DEVICES + 1] = [1] of { bit, byte, byte };  // scope; value; counts
chan from_mate[DEVICES + 1] = [1] of { byte, byte };
byte reserve;                                     // of what is outstanding, for puts from outside
bool grows, aborted, program_returned;
byte lanes_returned, returned;
byte puts_left = PUTS;
byte items[2], tasks[2], ended[2];                // of each scope
bool closed[2];                                   // just before the hold is given back
byte now;                                         // the scope that has the place

inline announce(next) {
#ifdef FREE_BEFORE_ANNOUNCED
  place = next;
  atomic { assert(ended[now] == 0); ended[now]++ }
#else
  atomic { assert(ended[now] == 0); ended[now]++; place = next }
#endif
}

// S3: only the thread that makes `outstanding` 0 comes here, but an abort may have been first (S6).
inline end_scope() {
  atomic {
    if
    :: place == OPEN ->
       place = ENDING;
       assert(items[now] == 0 && tasks[now] == 0 && closed[now] && outstanding == 0);
       assert(pot[1].live == 0 && pot[1].value == 0 && empty(mail[1]));
       assert(pot[DEVICES].live == 0 && pot[DEVICES].value == 0 && empty(mail[DEVICES]));
       last = 1
    :: else -> assert(aborted)
    fi
  };
  if
  :: last -> last = 0; announce(FREE)
  :: else
  fi
}

// S6. All stages have returned: the values that they left are lost.
inline end_with_error() {
  assert(tasks[0] == 0 && tasks[1] == 0);
#ifdef ENDED_WITHOUT_CLAIM
  if
  :: place == OPEN -> place = ENDING; announce(AFTER_ABORT)
  :: else
  fi
#else
  if
  :: atomic { place == OPEN -> place = ENDING }; announce(AFTER_ABORT)
  :: else
  fi
#endif
}

inline take_off(value) { assert(outstanding >= value); outstanding = outstanding - value; last = (outstanding == 0) }
inline end_if_last() {
  if
  :: last -> last = 0; end_scope()
  :: else
  fi
}
inline subtract(value) {
  atomic { take_off(value) };
  end_if_last()
}

// Tasks. A lane has one at a time, of scope `serial` with value v and `counts` of the pot of its home; 0: it is not
// counted.

inline send(value, its_counts) {
  atomic {
    if
    :: ring[to]!serial, value, its_counts
#ifdef SPILL
    :: to != HOST -> pool!to, serial, value, its_counts
#endif
    fi;
    items[serial]++
  }
}

inline exhausted() {
#ifndef EXHAUSTS
  assert(false);
#endif
  aborted = 1; printf("the pot is exhausted\n"); goto unwound
}

// S2: all of the value goes to the pot: a child may need it first.
inline be_lent() {
  if
  :: counts == 0 ->
     atomic {
       if
       :: share = v
#if defined(KEEPS) || defined(LEAST_TO_THE_POT)
       :: share = 1
#endif
       fi;
       pot[home].live = pot[home].live + LENT; pot[home].value = pot[home].value + share;
       v = v - share; share = 0; counts = LENT
     }
  :: counts == 1 -> atomic { pot[home].live = pot[home].live + LENT - 1; counts = LENT }
  :: else
  fi
}

// What an item gets.
inline share_counts() {
#ifdef NOT_COUNTED_ITSELF
  n = counts; counts = 0
#else
#ifdef COUNTS_SHARED_TWICE
  n = counts / 2
#else
  n = counts / 2; counts = counts - n
#endif
#endif
}

// S1, S4: a host task adds what it has not; a device task shares what it has, or draws from its pot, never the last.
// Half goes to another device, where nothing can be added.
inline take_share() {
  if
  :: home == HOST && to == HOST ->
     if
     :: v < 2 -> outstanding = outstanding + FEW; v = v + FEW
     :: else
     fi;
     share = v / 2; v = v - share
  :: home == HOST && to != HOST ->
#ifndef ADDED_AFTER_VISIBLE
     outstanding = outstanding + MANY;
#endif
     share = MANY
  :: home != HOST && (v >= 2 || (counts > 0 && v == 1)) ->
#ifdef ONE_TO_ANOTHER_DEVICE
     share = 1;
#else
     share = (to == HOST || v == 1 -> 1 : v / 2);
#endif
     v = v - share
  :: else ->
     if
     :: counts == 0 -> atomic { pot[home].live++; pot[home].value = pot[home].value + v; v = 0; counts = 1 }
     :: else
     fi;
     atomic {
       if
       :: pot[home].value > LEFT_IN_POT ->
          share = (to == HOST || pot[home].value == 1 -> 1 : pot[home].value / 2);
          pot[home].value = pot[home].value - share
       :: else -> exhausted()
       fi
     }
  fi
}

inline put() {
  if
  :: home == to && home != HOST ->
#ifdef VISIBLE_BEFORE_COUNTED
     send(0, 1); be_lent(); n = 1; counts = counts - n
#else
     be_lent();
     share_counts();
     if
     :: send(0, n)
#ifdef REFUSES
#ifdef REFUSED_STAYS_COUNTED
     :: skip
#else
     :: counts = counts + n
#endif
#endif
     fi
#endif
     ; n = 0
  :: else ->
     take_share();
     if
     :: send(share, 0)
#ifdef REFUSES
     :: v = v + share
#endif
     fi;
#ifdef ADDED_AFTER_VISIBLE
     if
     :: home == HOST && to != HOST -> outstanding = outstanding + MANY
     :: else
     fi;
#endif
     share = 0
  fi
}

inline send_mail(value) {
  if
  :: mail[home]!value
#ifndef MAIL_IGNORES_ABORT
  :: aborted
#endif
  fi
}

// S3: what was kept goes to the pot with the count. The one that makes live 0 takes the pot, unless others came or
// took it.
inline uncount() {
#ifdef MAILED_BEFORE_COUNTED
  if
  :: atomic { pot[home].live == counts -> n = pot[home].value + v; pot[home].value = 0; v = 0 }; send_mail(n); n = 0
  :: else
  fi;
#endif
  atomic {
    assert(pot[home].live >= counts);
#ifdef ONE_IS_GIVEN_BACK
    pot[home].live--;
#else
    pot[home].live = pot[home].live - counts;
#endif
#ifndef KEPT_IS_LOST
    pot[home].value = pot[home].value + v;
#endif
    last = (pot[home].live == 0); v = 0; counts = 0; TASK_ENDS
  };
  if
  :: last ->
     last = 0;
#ifdef POT_TAKEN_IN_TWO_STEPS
     n = pot[home].live;
     if
     :: n == 0 -> atomic { n = pot[home].value; pot[home].value = 0 }
     :: else -> n = 0
     fi;
#else
     atomic {
       if
       :: pot[home].live == 0 -> n = pot[home].value; pot[home].value = 0
       :: else
       fi
     };
#endif
     if
#ifdef MAILS_NOTHING
     :: send_mail(n)
#else
     :: n > 0 -> send_mail(n)
     :: else
#endif
     fi;
     n = 0
  :: else
  fi
}

// S7. The mate has a part of the value, or a count that the pot lends it.
inline begin_team_task() {
  if
  :: counts == 0 && v >= 2 ->
     share = v / 2;
#ifndef VALUE_FOR_BOTH
     v = v - share;
#endif
     to_mate[home]!serial, share, 0
  :: true ->
#ifdef MATE_BEGINS_BEFORE_IT_IS_LENT
     to_mate[home]!serial, 0, 1;
#endif
     atomic {
       if
       :: counts == 0 -> pot[home].live++; pot[home].value = pot[home].value + v; v = 0; counts = 1
       :: else
       fi;
#ifndef MATE_IS_NOT_LENT
       pot[home].live++
#endif
     }
#ifndef MATE_BEGINS_BEFORE_IT_IS_LENT
     ; to_mate[home]!serial, 0, 1
#endif
  fi;
  share = 0
}

// S7. What both have left is given back by the first.
inline meet_mate() {
  if
  :: from_mate[home]?share, n ->
#ifndef PART_OF_MATE_IS_LOST
     v = v + share; counts = counts + n;
#endif
     share = 0; n = 0
  :: aborted -> goto unwound
  fi
}

inline put_last() {
  if
  :: counts > 0 -> atomic { pot[home].value = pot[home].value + v; v = 0 }; send(0, counts); counts = 0
  :: else -> send(v, 0); v = 0
  fi
}

inline end_task() {
  if
  :: home != HOST && counts == 0 && v == 0 -> TASK_ENDS  // of a team whose lanes have put their last
  :: home == HOST -> atomic { take_off(v); v = 0; TASK_ENDS }; end_if_last()
  :: home != HOST && counts == 0 && v > 0 -> atomic { send_mail(v); v = 0; TASK_ENDS }
  :: else -> uncount()
  fi
}

// The last thing that a task does in value form. What goes to a device is filled up there: it may put (S4).
inline result() {
  if
  :: counts > 0 && home == to ->
     if
     :: v > 0 -> atomic { pot[home].value = pot[home].value + v; v = 0 }
     :: else
     fi;
     atomic { send(0, counts); tasks[serial]-- }
#ifdef COUNT_GOES_TO_ANOTHER_DEVICE
  :: counts > 0 && home != to -> atomic { send(v, counts); tasks[serial]-- }
#else
  :: counts > 0 && home != to -> put(); end_task()
#endif
  :: else ->
     if
#ifndef RESULT_IS_NOT_FILLED_UP
     :: home == HOST && to != HOST && v < MANY -> atomic { outstanding = outstanding + MANY - v; v = MANY }
#endif
     :: else
     fi;
     atomic { send(v, 0); tasks[serial]-- }
  fi
}

inline choose_where() {
  if
  :: MAY_GO(HOST) -> to = HOST
  :: MAY_GO(1) -> to = 1
  :: DEVICES > 1 && MAY_GO(DEVICES) -> to = DEVICES
  fi
}

proctype Lane(byte home; bool team) {
  byte v, to, share, n, counts;
  bit serial;
  bool last;
  do
  :: atomic { ring[home]?serial, v, counts -> items[serial]--; tasks[serial]++ };
     if
     :: team -> begin_team_task()
     :: else
     fi;
     do
     :: atomic { MAY_PUT && puts_left > 0 && (MAY_GO(HOST) || MAY_GO(1)) -> puts_left--; choose_where() }; put()
     :: aborted -> goto unwound
     :: break
     od;
     if
#ifdef ENDED_BEFORE_LAST_PUT
     :: atomic { puts_left > 0 -> puts_left--; choose_where() }; end_task(); put(); tasks[serial]--
#endif
     :: atomic { !team && MAY_RESULT && puts_left > 0 && (MAY_GO(HOST) || MAY_GO(1)) -> puts_left--; choose_where() };
        result()
     :: team -> meet_mate(); end_task()
     :: !team -> end_task()                       // not `else`: one within would look at all choices here
     fi;
     atomic { v = 0; to = 0; share = 0; n = 0; serial = 0; counts = 0; last = 0 }
  :: aborted -> break
  :: program_returned -> break
  od;
  goto back;
unwound:
  tasks[serial]--;
back:
  atomic { lanes_returned++; returned++ }
}

#ifdef TEAM
proctype Mate(byte home) {
  byte v, to, share, n, counts;
  bit serial;
  do
  :: to_mate[home]?serial, v, counts ->
     do
     :: atomic { MAY_PUT && puts_left > 0 && (MAY_GO(HOST) || MAY_GO(1)) -> puts_left--; choose_where() }; put()
     :: aborted -> goto back
     :: break
     od;
     if
     :: atomic { MAY_PUT && puts_left > 0 && MAY_GO(home) -> puts_left--; to = home }; put_last()
     :: true
     fi;
     if
     :: from_mate[home]!v, counts
     :: aborted -> goto back
     fi;
     atomic { v = 0; to = 0; share = 0; n = 0; serial = 0; counts = 0 }
  :: aborted -> break
  :: program_returned -> break
  od;
unwound:
back:
  atomic { lanes_returned++; returned++ }
}
#endif

// At the host. When the run aborts it takes no more mail, at once or later, and waits for the stages.
proctype Postman() {
  byte n;
  bool last;
  do
  :: mail[1]?n -> subtract(n); n = 0
  :: DEVICES > 1 && nempty(mail[DEVICES]) -> mail[DEVICES]?n; subtract(n); n = 0
  :: aborted -> goto awaits_stages
  :: program_returned -> goto back
  od;
awaits_stages:
  STAGES_RETURNED;
#ifndef ABORT_ENDS_NO_SCOPE
  end_with_error();
#endif
back:
  returned++
}

#ifdef SPILL
proctype Drain() {
  byte to, v, counts;
  bit serial;
  do
  :: pool?to, serial, v, counts ->
#ifdef DRAIN_COUNTS_AGAIN
     atomic { counts > 0 -> pot[to].live++ }
#endif
     ring[to]!serial, v, counts; to = 0; serial = 0; v = 0; counts = 0
  :: program_returned -> break
  od;
  returned++
}
#endif

// S5, H1: what is put from outside has its value from the reserve, which is outstanding before.
inline take_off_reserve() {
  do
#ifndef PUT_IGNORES_CLOSE
  :: atomic { closed[serial] -> share = 0; break }
#endif
  :: atomic { MAY_TAKE && reserve >= share -> reserve = reserve - share; break }
  :: atomic { MAY_TAKE && reserve < share && !grows -> grows = 1; assert(place == OPEN || aborted) };
     outstanding = outstanding + share;
     atomic { reserve = reserve + share; grows = 0 }
  od
}

inline close_scope() {
  atomic {
    MAY_CLOSE -> closed[now] = 1;
#ifndef REST_IS_LOST
    rest = reserve;
#endif
    reserve = 0
  };
  rest = rest + HOLD;
  subtract(rest);
  rest = 0
#ifdef CLOSED_TWICE
  ; subtract(HOLD)
#endif
}

inline put_from_outside() {
  share = (to == HOST -> FEW : MANY);
  take_off_reserve();
  if
  :: share == 0                                   // it is closed
  :: share > 0 -> send(share, 0)
#ifdef REFUSES
  :: share > 0 -> subtract(share)
#endif
  fi
}

proctype Program() {
  byte scope, sent, share, rest;
  byte to = INTO;
  bit serial;
  bool last;
  do
  :: scope < SCOPES ->
     if
     :: atomic { place == FREE -> now = scope; serial = scope; outstanding = HOLD + FEW; reserve = FEW; place = OPEN }
     :: aborted -> break
     fi;
     do
     :: sent < ITEMS && !(aborted && LOOKS) -> put_from_outside(); sent++
     :: else -> sent = 0; break
     od;
#ifndef CLOSED_BESIDE_A_PUT
     close_scope();
#endif
     scope++
  :: else -> break
  od;
  place == FREE || place == SPENT;
  atomic { program_returned = 1; returned++ }
}

#ifdef CLOSED_BESIDE_A_PUT
proctype Closer() {
  byte rest;
  bool last;
  place == OPEN -> close_scope()
}
#endif
#ifdef ABORT
proctype Aborter() {
  if
  :: aborted = 1; printf("the run aborts\n")
  :: skip
  fi
}
#endif

init {
  byte lane;
  atomic {
    run Program(); run Postman();
#ifdef SPILL
    run Drain();
#endif
#ifdef CLOSED_BESIDE_A_PUT
    run Closer();
#endif
#ifdef ABORT
    run Aborter();
#endif
    do
    :: lane < HOST_LANES -> run Lane(HOST, false); lane++
    :: else -> lane = 0; break
    od;
    do
    :: lane < LANES -> run Lane(1, MATES > 0 && lane == 0); lane++
    :: else -> lane = 0; break
    od;
    do
    :: DEVICES > 1 && lane < LANES -> run Lane(DEVICES, MATES > 0 && lane == 0); lane++
    :: else -> lane = 0; break
    od;
#ifdef TEAM
    do
    :: lane < MATES -> lane++; run Mate(lane)
    :: else -> lane = 0; break
    od
#endif
  }
  returned == PROCESSES - 1;
  assert(aborted || ended[0] + ended[1] == SCOPES);
  returned++
}
#ifdef LIVE
ltl returns { <> (returned == PROCESSES) }
#endif
