#include <cstdio>

long sum_in_plain_unit();
long sum_in_cuda_unit();

// Both orders: whichever unit's templates the linker kept, neither may lose the other's kernel.
int main() {
  long const sums[] = {sum_in_plain_unit(), sum_in_cuda_unit(), sum_in_plain_unit()};
  for (long sum : sums) {
    std::printf("%ld\n", sum);
    if (sum != 333833500) return 1;
  }
}
