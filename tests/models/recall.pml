// recall.pml: a kernel and the device's monitor leave when there is nothing to do, and come back for what comes later. Rule
// L4 of include/hiway/launch/slice.hpp, A1 and A2 of monitors/recall.hpp; docs/termination.md, "Kernels that yield".
//
// The host puts ITEMS items, one after another, then closes. The monitor hears of them, so that the kernel can get
// them; it calls the kernel while that is away and there is an item, and once all has ended, to return. The watcher
// starts launches.
//
//   safety    an end is announced only after the last item
//   liveness  (LIVE) the kernel returns, and the monitor after it
//
// Scenario: UNASKED (the watcher starts the kernel together with a monitor that was away).
#ifndef ITEMS
#define ITEMS 2
#endif

byte told, closed;                       // at the host: words that only grow
byte heard, taken;                       // at the device
bool ended, returned, over;
byte k_launched = 1, k_gone, k_next;     // the kernel's launches: made; gone; the last that may be made
bool m_there = 1, m_next;                // the monitor: a launch of it; whether the next one may be made
byte found, called = 1, k_launched_told = 1;
byte captured;                           // the host's sum before the monitor's last launch
#define SUM (told + closed)
#define K_AWAY (k_gone == called)

proctype Host() {
  do
  :: told < ITEMS -> told++
  :: else -> break
  od;
  closed = 1
}

proctype Kernel() {
  byte launch;
  do
  :: k_launched > launch ->
     launch++;
     do
     :: atomic { heard > taken -> taken++; found = launch };
        k_next = (k_next > launch + 1 -> k_next : launch + 1);
        if
        :: skip
        :: break                          // its slice is over
        fi
     :: atomic { heard == taken -> if :: ended -> returned = 1 :: else fi }; break  // sent away
     od;
     k_gone = launch
  :: over && k_launched == launch -> break
  od
}

inline look() {
  heard = told;
  is_quiet = (heard == seen);
  seen = heard;
  called = (found + 1 > called -> found + 1 : called);
  if
  :: K_AWAY ->
     if
#ifdef CALLED_FOR_NEWS_ONLY
     :: !is_quiet && (heard > taken || (ended && !returned)) -> called++; k_next = called
#else
     :: heard > taken || (ended && !returned) -> called++; k_next = called; is_quiet = 0
#endif
     :: else
     fi
  :: else ->
#ifndef QUIET_BESIDE_A_KERNEL
     is_quiet = 0
#endif
     skip
  fi;
  is_quiet = (ended -> 0 : is_quiet);
  if
  :: closed && !ended && taken == told -> ended = 1; assert(taken == ITEMS); is_quiet = 0
  :: else
  fi
}

proctype Monitor() {
  byte seen;
  bool is_quiet;
  do
  :: m_there ->
#ifndef LAUNCHES_ARE_NOT_HEARD_OF
     called = (k_launched_told > called -> k_launched_told : called);
#endif
#ifdef LEAVES_BEFORE_IT_LOOKS
     if
     :: goto leave
     :: skip
     fi;
#endif
     do
     :: over -> break
     :: else -> atomic { look() };
        if
        :: ended && returned -> over = 1; break
        :: else
        fi;
        if
        :: is_quiet -> break                  // nothing has moved for long
        :: !is_quiet -> m_next = 1; break     // its slice is over
        :: !is_quiet -> m_next = 1
        fi
     od;
leave:
     m_there = 0
  :: over && !m_there -> break
  od
}

inline start_kernel() { k_launched++; k_launched_told = k_launched }
inline start_monitor() {
  m_next = 0;
#ifdef COUNTS_ARE_READ_AFTER_THE_LAUNCH
  m_there = 1; captured = SUM
#else
  captured = SUM; m_there = 1
#endif
}

// In each round it looks at the kernel, then at the monitor.
proctype Watcher() {
  do
  :: over -> break
  :: else ->
     if
     :: k_next > k_launched && k_gone == k_launched -> start_kernel()
     :: else
     fi;
     if
     :: !m_there && m_next -> start_monitor()
#ifndef HOST_IS_NOT_WATCHED
     :: !m_there && !m_next && SUM != captured ->
#ifdef UNASKED
        if
        :: k_gone == k_launched && told > taken -> start_kernel()
        :: else
        fi;
#endif
        start_monitor()
#endif
     :: !m_there && !m_next && k_gone != k_launched -> start_monitor()
     :: else
     fi
  od
}

init {
  atomic { run Host(); run Kernel(); run Monitor(); run Watcher() }
}
#ifdef LIVE
ltl returns { <> (over && returned) }
#endif
