// abort.pml: an abort reaches a kernel that stays within a task, though the device's monitor, which alone tells the device
// of it, comes and goes. RunKernels::comes_back (lib/pipeline/run_kernels.cpp); docs/termination.md, "Kernels that yield".
//
// A lane waits within its task for room that nobody makes any more, or for the abort. The monitor leaves at any moment; the
// host launches it again. The user aborts at any time.
//
//   liveness  every process returns
#ifdef NOT_BACK_WHEN_ABORTED
#define COMES_BACK !aborted
#else
#define COMES_BACK (!aborted || kernel_inside)
#endif

bool aborted, told;  // at the host; at the device
bool kernel_inside = 1, monitor_inside;
byte returned;

proctype Lane() {
  told;
  kernel_inside = 0;
  returned++
}

proctype Monitor() {
  do
  :: monitor_inside ->
     if
     :: aborted -> told = 1; printf("the device is told\n")
     :: !aborted -> printf("the monitor leaves before the abort\n")
     fi;
     monitor_inside = 0
  :: aborted && !kernel_inside && !monitor_inside -> break
  od;
  returned++
}

proctype Host() {
  do
  :: atomic { !monitor_inside && COMES_BACK -> monitor_inside = 1 }
  :: aborted && !kernel_inside && !monitor_inside -> break
  od;
  returned++
}

proctype User() {
  aborted = 1;
  returned++
}

init {
  atomic { run Lane(); run Monitor(); run Host(); run User() }
  returned == 4;
  returned++
}
#ifdef LIVE
ltl returns { <> (returned == 5) }
#endif
