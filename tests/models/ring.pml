// ring.pml: one ring with credits, tickets and a turn per slot. The head of include/hiway/ring.hpp: I1 to I3, I5.
//
// PUTS producers and as many consumers make one put or get each: credit, ticket, wait for the slot's turn, copy, turn.
// Credits are early: given at the grant, not after the copy, so a slot may be waited for by several laps.
//
//   safety    a slot is written only when its item was read, and read only when its item was written; consumer of
//             ticket t gets the item of ticket t
//   liveness  (LIVE) every process returns
#ifndef PUTS
#define PUTS 3
#endif
#ifndef CAPACITY
#define CAPACITY 1
#endif
#define PROCESSES (2 * PUTS + 1)

byte room = CAPACITY, avail, claimed, taken, returned;  // room: `free` in ring.hpp
byte turns[CAPACITY], item[CAPACITY];
bool is_full[CAPACITY];
byte published;

#define SLOT(ticket) (ticket % CAPACITY)
#define LAP(ticket) (ticket / CAPACITY)
#if defined(ONE_BIT)  // full or free, whosever lap it is
#define FREE_TURN(ticket) 0
#define FULL_TURN(ticket) 1
#define NEXT_TURN(ticket) 0
#elif defined(LAP_PARITY)
#define FREE_TURN(ticket) (2 * (LAP(ticket) % 2))
#define FULL_TURN(ticket) (2 * (LAP(ticket) % 2) + 1)
#define NEXT_TURN(ticket) (2 * ((LAP(ticket) + 1) % 2))
#else
#define FREE_TURN(ticket) (2 * LAP(ticket))
#define FULL_TURN(ticket) (2 * LAP(ticket) + 1)
#define NEXT_TURN(ticket) (2 * (LAP(ticket) + 1))
#endif

proctype Producer() {
  byte ticket;
  atomic { room > 0 -> room-- }
  atomic { ticket = claimed; claimed++; avail++; printf("ticket %d is granted to a put\n", ticket) }
#ifndef PUBLISHED_BY_COUNT
  turns[SLOT(ticket)] == FREE_TURN(ticket);
#endif
  atomic {
    assert(!is_full[SLOT(ticket)]);
    is_full[SLOT(ticket)] = 1; item[SLOT(ticket)] = ticket; printf("item %d is written\n", ticket)
  }
#ifdef PUBLISHED_BY_COUNT
  published++;
#else
  turns[SLOT(ticket)] = FULL_TURN(ticket);
#endif
  returned++
}

proctype Consumer() {
  byte ticket;
  atomic { avail > 0 -> avail-- }
#ifdef CREDIT_KEPT  // in a cache of the block's own, for a put that it may never do
  atomic { ticket = taken; taken++ }
#else
  atomic { ticket = taken; taken++; room++ }
#endif
#ifdef PUBLISHED_BY_COUNT
  published > ticket;
#else
  turns[SLOT(ticket)] == FULL_TURN(ticket);
#endif
  atomic {
    printf("the get of ticket %d reads item %d\n", ticket, item[SLOT(ticket)]);
    assert(is_full[SLOT(ticket)] && item[SLOT(ticket)] == ticket);
    is_full[SLOT(ticket)] = 0
  }
#ifndef PUBLISHED_BY_COUNT
  turns[SLOT(ticket)] = NEXT_TURN(ticket);
#endif
  returned++
}

init {
  byte i;
  atomic {
    for (i : 1 .. PUTS) { run Producer(); run Consumer() }
  }
  returned == PROCESSES - 1;
  returned++
}
#ifdef LIVE
ltl returns { <> (returned == PROCESSES) }
#endif
