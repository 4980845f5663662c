// nodes.pml: the end of a pipeline over nodes. Rules "Over nodes" of docs/termination.md; L1, L2 and L4 of
// lib/nodes/node_line.hpp, U1 and U2 of lib/nodes/line/line.hpp, N1 and N2 of lib/nodes/run_news.hpp, S2 of
// lib/pipeline/run_over_nodes.hpp.
//
// Tunnel 0 leads from sources to work, tunnel 1 from work back to a sink at node 0. Both cross. On a node that puts
// into one it has a half `out`, on a node that gets from one a half `in`, and between them a lane. Each task of work
// puts one item; at its end work puts a last one. A node's own end check is one step: its writers have closed, and
// finished is created (check.pml and others show why that may be so).
//
// What a node reads of another is words that only grow. Each is read by one step, at any time after it was written: so
// words are as late as they like, and in any order, also between the same two nodes. They move only while the node that
// wrote them makes progress: it has not left, and its line does not stand still since the run aborts there.
//
//   ghost     got: items at the sink; faulty[n]: node n has failed by itself, was killed, or was held for lost
//   safety    nothing is put where the end was told, nothing is on its way to it then; a verdict `over` means that the
//             sink has got all; a failure's node is faulty; all have the same verdict, but for those that lost node 0
//   liveness  (LIVE) every process returns; each node that lives has a verdict then. No run can go on for ever, so the
//             search for safety finds what hangs, too
//
// Scenarios:
//   (none)    two nodes: sources at node 0, work at node 1
//   FARM      NODES nodes: the source at node 0, work at all of them. Node 0 has lanes to itself
//   FAN_IN    three nodes: sources at 0 and 1, work at 2
//   FAILURES  so many nodes fail or abort by themselves, at any moment before they have the verdict
//   KILLED    so many nodes are killed, at any moment
//   HELD      so many nodes are held for lost though they live: by node 0, or node 0 by them
//             What may still happen is a way out of a hang. So each is searched alone, too, and the first with none.
//   TWO_RUNS  another model, at the end: how a run begins after one that failed (U1)
#ifndef NODES
#define NODES 2
#endif
#ifndef ITEMS
#define ITEMS 1  // of each source
#endif
#ifndef FAILURES
#define FAILURES 0
#endif
#ifndef KILLED
#define KILLED 0
#endif
#ifndef HELD
#define HELD 0
#endif

#ifndef TWO_RUNS
#define PLACES 1  // of a lane
#define ROOM 1    // of a half
#if defined(FARM)
#define PUTS(t, n) (t == 1 || n == 0)
#define GETS(t, n) (t == 0 || n == 0)
#define SOURCES 1
#define WORKERS NODES
#elif defined(FAN_IN)
#define PUTS(t, n) ((n == 2) == t)
#define GETS(t, n) (t == 0 -> n == 2 : n == 0)
#define SOURCES 2
#define WORKERS 1
#else
#define PUTS(t, n) (n == t)
#define GETS(t, n) (n != t)
#define SOURCES 1
#define WORKERS 1
#endif
#define STAGES(n) (PUTS(0, n) + GETS(0, n) + (n == 0))
#define PROCESSES (SOURCES + WORKERS + 1 + NODES + 1)
#define HALF(t, n) (t * NODES + n)
#define LANE(t, from, to) ((t * NODES + from) * NODES + to)
#define OVER 1
#define FAILED(n) (2 + n)

// Of each half.
byte out_created[2 * NODES], out_finished[2 * NODES], out_queued[2 * NODES];
bool out_closed[2 * NODES], out_ended[2 * NODES];
byte in_created[2 * NODES], in_finished[2 * NODES], in_queued[2 * NODES];
bool in_closed[2 * NODES], in_ended[2 * NODES];
// Of each lane: items sent, put at the other end, and ended as tasks of the outlet.
byte sent[2 * NODES * NODES], put[2 * NODES * NODES], retired[2 * NODES * NODES];
// Of each node.
bool aborted[NODES], dead[NODES], left[NODES], faulty[NODES], lost_node_0[NODES];
byte stages_left[NODES], verdict[NODES];
bool said_over[NODES], said_failed[NODES], heard_over[NODES], told[NODES];
byte may_fail = FAILURES, may_be_killed = KILLED, may_be_held = HELD, got, returned;

#define IS_OFF(n) (aborted[n] || dead[n])
#define STEPS(n) (!IS_OFF(n) && !left[n])
#define MOVES(n) (!aborted[n] && !left[n])  // what it has written; of a node that was killed, too, if it had been sent

inline put_into(t) {
  if
  :: atomic { out_queued[HALF(t, n)] < ROOM && !IS_OFF(n) ->
       assert(!out_ended[HALF(t, n)]);
       out_created[HALF(t, n)]++; out_queued[HALF(t, n)]++; printf("node %d: an item is put into tunnel %d\n", n, t)
     }
  :: IS_OFF(n) -> goto leave
  fi
}

proctype Source(byte n) {
  byte i;
  for (i : 1 .. ITEMS) { put_into(0) }
  out_closed[HALF(0, n)] = 1;
leave:
  atomic { stages_left[n]++; returned++ }
}

proctype Work(byte n) {
  do
  :: atomic { in_queued[HALF(0, n)] > 0 && !IS_OFF(n) ->
       in_queued[HALF(0, n)]--; printf("node %d: work gets a task\n", n) }
     put_into(1);
     in_finished[HALF(0, n)]++
  :: in_ended[HALF(0, n)] -> break
  :: IS_OFF(n) -> goto leave
  od;
  put_into(1);
  out_closed[HALF(1, n)] = 1;
leave:
  atomic { stages_left[n]++; returned++ }
}

proctype Sink() {
  do
  :: atomic { in_queued[HALF(1, 0)] > 0 && !IS_OFF(0) ->
       in_queued[HALF(1, 0)]--; got++; in_finished[HALF(1, 0)]++; printf("node 0: the sink gets an item\n")
     }
  :: d_step { in_ended[HALF(1, 0)] || IS_OFF(0) -> stages_left[0]++; returned++ } break
  od
}

// What the lines of both nodes do for a lane. Which lane takes the next item (L4) is left open.
proctype Lane(byte t; byte from; byte to) {
end:
  do
  :: d_step { STEPS(from) && out_queued[HALF(t, from)] > 0 &&
              sent[LANE(t, from, to)] - retired[LANE(t, from, to)] < PLACES ->
       out_queued[HALF(t, from)]--; sent[LANE(t, from, to)]++;
#ifdef TASK_ENDED_WHEN_SENT
       out_finished[HALF(t, from)]++;
#endif
       printf("node %d: an item of tunnel %d is sent to node %d\n", from, t, to)
     }
  :: d_step { STEPS(to) && MOVES(from) && put[LANE(t, from, to)] < sent[LANE(t, from, to)] &&
              in_queued[HALF(t, to)] < ROOM ->
       printf("node %d: an item of tunnel %d from node %d is put\n", to, t, from);
       assert(!in_closed[HALF(t, to)] && !in_ended[HALF(t, to)]);
       in_created[HALF(t, to)]++; in_queued[HALF(t, to)]++; put[LANE(t, from, to)]++
     }
  :: d_step { STEPS(from) && MOVES(to) && retired[LANE(t, from, to)] < put[LANE(t, from, to)] ->
       retired[LANE(t, from, to)]++;  // L1
#ifndef TASK_ENDED_WHEN_SENT
       out_finished[HALF(t, from)]++
#endif
     }
  od
}

#ifdef ENDED_TOLD_WHEN_CLOSED
#define TELLS_END(t, n) out_closed[HALF(t, n)]
#else
#define TELLS_END(t, n) out_ended[HALF(t, n)]
#endif
#define FROM(t, f) (!PUTS(t, f) || (TELLS_END(t, f) && MOVES(f)))
#define IS_DRY(t, f, n) (sent[LANE(t, f, n)] == put[LANE(t, f, n)])
#ifdef FIRST_END_CLOSES
#define FROM_ALL(t) \
  (PUTS(t, 0) && FROM(t, 0) || PUTS(t, 1) && FROM(t, 1) || NODES > 2 && PUTS(t, NODES - 1) && FROM(t, NODES - 1))
#else
#define FROM_ALL(t) (FROM(t, 0) && FROM(t, 1) && FROM(t, NODES - 1))  // L2
#endif
#define IS_DONE(t) ((!PUTS(t, n) || out_ended[HALF(t, n)]) && (!GETS(t, n) || in_closed[HALF(t, n)]))

// The end check of this node, and the closing of its inlets.
#define ENDS(t) \
  :: d_step { STEPS(n) && out_closed[HALF(t, n)] && !out_ended[HALF(t, n)] && \
              out_finished[HALF(t, n)] == out_created[HALF(t, n)] -> \
       out_ended[HALF(t, n)] = 1; printf("node %d: tunnel %d has ended where it is put\n", n, t) } \
  :: d_step { STEPS(n) && GETS(t, n) && !in_closed[HALF(t, n)] && FROM_ALL(t) -> \
       in_closed[HALF(t, n)] = 1; printf("node %d: the inlet of tunnel %d is closed\n", n, t) } \
  :: d_step { STEPS(n) && in_closed[HALF(t, n)] && !in_ended[HALF(t, n)] && \
              in_finished[HALF(t, n)] == in_created[HALF(t, n)] -> \
       in_ended[HALF(t, n)] = 1; printf("node %d: tunnel %d has ended where it is got\n", n, t); \
       assert(IS_DRY(t, 0, n) && IS_DRY(t, 1, n) && IS_DRY(t, NODES - 1, n)) }

#ifdef GONE_IS_NOT_SEEN
#define IS_SEEN_GONE(k) false
#else
#define IS_SEEN_GONE(k) dead[k]
#endif
#define DECIDE(what) \
  verdict[n] = what; printf("node %d: the verdict is %d\n", n, what); aborted[n] = aborted[n] || what != OVER
#define ALL_HEARD (heard_over[1] && heard_over[NODES - 1])
#define HEARS(k) \
  :: d_step { verdict[0] == 0 && said_over[k] && !heard_over[k] -> heard_over[k] = 1 } \
  :: d_step { verdict[0] == 0 && said_failed[k] && said_over[k] == heard_over[k] -> DECIDE(FAILED(k)) } \
  :: d_step { verdict[0] == 0 && (IS_SEEN_GONE(k) || lost_node_0[k]) && said_over[k] == heard_over[k] && \
              !said_failed[k] -> DECIDE(FAILED(k)) }
#define TELLS(k) :: d_step { verdict[0] != 0 && !told[k] -> told[k] = 1 }
#define HOLDS(k) \
  :: d_step { verdict[0] == 0 && may_be_held > 0 -> may_be_held--; faulty[k] = 1; DECIDE(FAILED(k)) }

#ifdef ABORT_NOT_TOLD_AFTER_OVER
#define MAY_SAY_FAILED (!said_over[n])
#else
#define MAY_SAY_FAILED true
#endif
#if defined(LEAVES_WHEN_ITS_PART_IS_OVER)
#define MAY_LEAVE (verdict[n] != 0 || said_over[n])
#elif defined(NODE_0_TELLS_NO_MORE)
#define MAY_LEAVE (verdict[n] != 0)
#else
#define MAY_LEAVE (verdict[n] != 0 && (n != 0 || told[1] && told[NODES - 1]))
#endif

proctype NodeZero() {
  byte n = 0;
  do
  ENDS(0)
  ENDS(1)
  :: d_step { verdict[0] == 0 && !IS_OFF(0) && stages_left[0] == STAGES(0) && IS_DONE(0) && IS_DONE(1) &&
              ALL_HEARD && !left[0] ->
       said_over[0] = 1; DECIDE(OVER) }
  :: d_step { verdict[0] == 0 && may_fail > 0 && !dead[0] -> may_fail--; faulty[0] = 1; DECIDE(FAILED(0)) }
  HEARS(1)
  TELLS(1)
#if NODES > 2
  HEARS(2)
  TELLS(2)
#endif
#if HELD
  HOLDS(1)
#if NODES > 2
  HOLDS(2)
#endif
#endif
  :: d_step { may_be_killed > 0 ->
       may_be_killed--; dead[0] = 1; faulty[0] = 1; returned++; printf("node 0 is killed\n") } break
#ifdef LEAVES_WHEN_ITS_PART_IS_OVER
  :: d_step { verdict[0] == 0 && !IS_OFF(0) && stages_left[0] == STAGES(0) && IS_DONE(0) && IS_DONE(1) ->
       left[0] = 1; returned++ } break
#endif
  :: d_step { MAY_LEAVE && stages_left[0] == STAGES(0) -> left[0] = 1; returned++; printf("node 0 leaves\n") } break
  od
}

proctype Node(byte n) {
  do
  ENDS(0)
  ENDS(1)
  :: d_step { verdict[n] == 0 && !IS_OFF(n) && !said_over[n] &&
              stages_left[n] == STAGES(n) && IS_DONE(0) && IS_DONE(1) ->
       said_over[n] = 1; printf("node %d says that its part is over\n", n) }
  :: d_step { verdict[n] == 0 && may_fail > 0 && !aborted[n] ->
       may_fail--; faulty[n] = 1; aborted[n] = 1;
       if
       :: MAY_SAY_FAILED -> said_failed[n] = 1
       :: else
       fi;
       printf("node %d fails\n", n);
#ifdef EACH_JUDGES_WHAT_IT_HAS_SEEN
       verdict[n] = FAILED(n)
#endif
     }
  :: d_step { verdict[n] == 0 && told[n] -> DECIDE(verdict[0]) }
  :: d_step { verdict[n] == 0 && !told[n] && IS_SEEN_GONE(0) ->  // N1: its own failure, if it has said one
       lost_node_0[n] = 1;
       if
       :: said_failed[n] -> DECIDE(FAILED(n))
       :: else -> DECIDE(FAILED(0))
       fi
     }
#if HELD
  :: d_step { verdict[n] == 0 && may_be_held > 0 ->
       may_be_held--; faulty[0] = 1; faulty[n] = 1; lost_node_0[n] = 1; DECIDE(FAILED(0)) }
#endif
  :: d_step { may_be_killed > 0 ->
       may_be_killed--; dead[n] = 1; faulty[n] = 1; returned++; printf("node %d is killed\n", n) } break
  :: d_step { MAY_LEAVE && stages_left[n] == STAGES(n) -> left[n] = 1; returned++; printf("node %d leaves\n", n) } break
  od
}

#define AT_THE_END(n) \
  assert(dead[n] || verdict[n] != 0); \
  assert(verdict[n] != OVER || got == SOURCES * ITEMS + WORKERS); \
  assert(verdict[n] < 2 || faulty[verdict[n] - 2]); \
  assert(dead[n] || dead[0] || lost_node_0[n] || verdict[n] == verdict[0])

init {
  byte from, to;
  atomic {
    run NodeZero(); run Sink();
    for (from : 0 .. NODES - 1) {
      if
      :: from > 0 -> run Node(from)
      :: else
      fi;
      if
      :: PUTS(0, from) -> run Source(from)
      :: else
      fi;
      if
      :: GETS(0, from) -> run Work(from)
      :: else
      fi;
      for (to : 0 .. NODES - 1) {
        if
        :: PUTS(0, from) && GETS(0, to) -> run Lane(0, from, to)
        :: else
        fi;
        if
        :: PUTS(1, from) && GETS(1, to) -> run Lane(1, from, to)
        :: else
        fi
      }
    }
    from = 0; to = 0
  }
  returned == PROCESSES - 1 ->
  AT_THE_END(0); AT_THE_END(1); AT_THE_END((NODES - 1));
  assert(FAILURES + KILLED + HELD > 0 || verdict[0] == OVER);
  returned++
}
#ifdef LIVE
ltl returns { <> (returned == PROCESSES) }
#endif

#else  // TWO_RUNS
// Node 0 sends items to node 1 in each of two runs, by one lane. Here the words between two nodes arrive in order
// (remote_copies.hpp O1), as U1 has it. Run 1 fails at any moment, also while it begins, or ends well; run 2 ends well.
//
//   safety    node 1 sees no word of an earlier run; nobody is stuck
//   MAY_NOT_BEGIN   run 1 may fail on a node before that node meets the others
#define PROCESSES NODES
#define ARRIVED 0
#define RETIRED 1
#define MET 2
chan wire[NODES * NODES] = [6] of { byte, byte, byte };  // which word, its value, its run (ghost)
byte met[NODES * NODES], arrived, arrived_run, retired, done[3], returned;
bool failed[3], verdict;  // node 0 has heard that run 1 has failed; it leaves it at once

#define WIRE(from, to) wire[from * NODES + to]
#ifdef MEETINGS_COUNTED
#define NEXT_MEETING(first) meetings + 1
#else
#define NEXT_MEETING(first) (first -> 2 * number - 1 : 2 * number)
#endif

proctype Wire(byte from; byte to) {
  byte word, value, number;
end:
  do
  :: atomic { WIRE(from, to) ? word, value, number ->
       if
       :: word == ARRIVED -> arrived = value; arrived_run = number
       :: word == RETIRED -> retired = value
       :: word == MET -> met[to * NODES + from] = value
       fi;
       word = 0; value = 0; number = 0
     }
  od
}

#define HEARS_OF_FAILURE :: atomic { failed[number] && (n == 0 || verdict) -> verdict = 1 } goto next
#define HAS_COME(k) (k == n || met[n * NODES + k] >= meetings)
inline meet(first) {
  atomic {
    meetings = NEXT_MEETING(first);
    for (k : 0 .. NODES - 1) {
      if
      :: k != n -> WIRE(n, k) ! MET, meetings, number
      :: else
      fi
    }
    k = 0
  }
  if
  :: HAS_COME(0) && HAS_COME(1) && HAS_COME(NODES - 1)
  HEARS_OF_FAILURE
  fi
}

proctype Node(byte n) {
  byte number = 1, meetings, sent, k;
begin:
#ifdef MAY_NOT_BEGIN
  if
  :: number == 1 -> failed[1] = 1; printf("node %d cannot begin run 1\n", n);
     if
     HEARS_OF_FAILURE
     fi
  :: true
  fi;
#endif
#ifndef NO_FIRST_MEETING
  meet(true);
#endif
  atomic {
    if
    :: n == 0 -> retired = 0
    :: n == 1 -> arrived = 0; arrived_run = 0
    :: else
    fi;
    sent = 0; printf("node %d resets its words for run %d\n", n, number)
  }
#ifndef NO_SECOND_MEETING
  meet(false);
#endif
  printf("node %d begins run %d\n", n, number);
  do
  :: d_step { n == 0 && sent < ITEMS -> sent++; WIRE(0, 1) ! ARRIVED, sent, number }
  :: d_step { n == 1 && sent < arrived -> assert(arrived_run == number); sent++; WIRE(1, 0) ! RETIRED, sent, number }
  :: n == 0 && retired == ITEMS -> break
  :: n == 1 && sent == ITEMS -> break
  :: n > 1 -> break
  :: d_step { number == 1 && !failed[1] && done[1] < NODES -> failed[1] = 1; printf("node %d fails\n", n) }
  HEARS_OF_FAILURE
  od;
  done[number]++;
  if
  :: done[number] == NODES
  HEARS_OF_FAILURE
  fi;
next:
  if
  :: number == 1 -> number = 2; goto begin
  :: else
  fi;
  returned++
}

init {
  byte from, to;
  atomic {
    for (from : 0 .. NODES - 1) {
      run Node(from);
      for (to : 0 .. NODES - 1) {
        if
        :: from != to -> run Wire(from, to)
        :: else
        fi
      }
    }
    from = 0; to = 0
  }
  returned == PROCESSES;
  assert(done[2] == NODES && !failed[2])
}
#ifdef LIVE
ltl returns { <> (returned == PROCESSES) }
#endif
#endif
