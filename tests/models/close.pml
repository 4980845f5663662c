// close.pml: a put races the close of its inlet and the end. Rules "Closing", "Put" and the second reading of
// "Check" in docs/termination.md; T5 of include/hiway/termination.hpp (in sequentially consistent order, which docs
// say how the machines keep).
//
// A writing stage of two blocks. Block 0 has two lanes: lane 0 closes the block's inlet whenever it likes, lane 1 puts
// one item, perhaps too late (misuse). Block 1 has one lane that puts one item and returns. One reader, one checker.
//
//   safety    an item that was accepted is never left when the end is announced; a legal put is never refused
//   liveness  (LIVE) every process returns
//
// Scenarios: SEEN_FIRST (tagged half-rings: an item is visible before its put has looked whether it is late; `unsettled`
// are those), ALL_RETURN (nobody closes early: every put is legal), WITHOUT_TASK (the reader also writes a tunnel of its
// own unit, once after it has ended the task: misuse).
#define BLOCKS 2
#define PROCESSES 6

byte queued, claimed, finished, accepted, unsettled;
byte inner_queued, inner_claimed;  // WITHOUT_TASK: the tunnel from the reader to itself, the same unit
byte closed_executors, lanes_returned[BLOCKS], returned;
bool inlet_closed[BLOCKS], unit_closed, ended, aborted;
#ifdef WITHOUT_TASK
bool may_misuse = 1;
#endif

inline refuse_late_put(block, is_legal) {
  if
  :: inlet_closed[block] || unit_closed ->
     assert(!is_legal); aborted = 1; printf("block %d: the put is refused\n", block); goto leave
  :: else
  fi
}

inline put(block, is_legal) {
#ifdef CLOSED_THEN_TICKET
  refuse_late_put(block, is_legal);
  claimed++;
#else
  claimed++;
#ifdef SEEN_FIRST
  d_step { queued++; unsettled++ };
#endif
#ifndef NOT_LOOKED
  refuse_late_put(block, is_legal);
#endif
#endif
#if defined(SEEN_FIRST) && !defined(CLOSED_THEN_TICKET)
  // Its item may be finished by now, and the end announced; one that is left shows at the end.
  d_step { unsettled--; accepted++; printf("block %d: the put is accepted\n", block) }
#else
  d_step { queued++; accepted++; printf("block %d: the put is accepted\n", block); assert(!ended) }
#endif
}

inline close(block) {
#if defined(CLOSES_COUNTED_TWICE)
  inlet_closed[block] = 1; closed_executors++;
#elif defined(FIRST_CLOSE_CLOSES_ALL)
  inlet_closed[block] = 1; closed_executors = BLOCKS;
#else
  atomic {
    if
    :: !inlet_closed[block] -> inlet_closed[block] = 1; closed_executors++
    :: else
    fi
  };
#endif
  printf("block %d closes, %d closed\n", block, closed_executors)
}

proctype Lane(byte block; byte lane) {
  bool is_last;
  if
  :: block == 1 -> put(1, 1)
  :: block == 0 && lane == 1 ->
#ifdef ALL_RETURN
     put(0, 1)
  :: block == 0 && lane == 0 -> put(0, 1)
#else
     put(0, 0)
  :: block == 0 && lane == 0 -> close(0)
#endif
  fi;
  atomic { lanes_returned[block]++; is_last = (lanes_returned[block] == 2 - block) };
  if
  :: is_last -> close(block)
  :: else
  fi;
leave:
  returned++
}

proctype Reader() {
  do
  :: atomic { queued > 0 -> queued--; printf("the reader gets a task\n") } finished++;
#ifdef WITHOUT_TASK
     if
     :: may_misuse ->
        may_misuse = 0; inner_claimed++;
        if
        :: unit_closed -> aborted = 1; printf("the put without a task is refused\n"); break
        :: else
        fi;
        d_step { inner_queued++; printf("the put without a task is accepted\n"); assert(!ended) }
     :: skip
     fi
  :: atomic { inner_queued > 0 -> inner_queued-- } finished++
#endif
  :: ended || aborted -> break
  od;
  returned++
}

proctype Checker() {
  byte finished_sum, claimed_seen, inner_seen;
  closed_executors >= BLOCKS || aborted;
  do
  :: aborted -> break
  :: else ->
     finished_sum = finished; claimed_seen = claimed; inner_seen = inner_claimed;
     if
     :: finished_sum == claimed_seen + inner_seen ->
        unit_closed = 1;
#ifndef NO_SECOND_READING
        if
        :: claimed != claimed_seen || inner_claimed != inner_seen -> aborted = 1; printf("put without a task\n"); break
        :: else
        fi;
#endif
        atomic {
          ended = 1;
          printf("the end is announced: %d claimed, %d finished\n", claimed_seen + inner_seen, finished_sum);
          assert(queued <= unsettled && inner_queued == 0 && inlet_closed[0] && inlet_closed[1])
        }
        break
     :: else
     fi
  od;
  returned++
}

init {
  atomic { run Lane(0, 0); run Lane(0, 1); run Lane(1, 0); run Reader(); run Checker() }
  returned == PROCESSES - 1;
  assert(aborted || (queued == 0 && inner_queued == 0));
  returned++
}
#ifdef LIVE
ltl returns { <> (returned == PROCESSES) }
#endif
