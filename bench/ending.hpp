// Ending: a pipeline that moves few items, so that its end is what there is to see. For the benches of that.
#pragma once
#include <memory>
#include <string>
#include <vector>

namespace bench {

struct EndingSetup {
  std::string device;
  bool cycle = false;  ///< cpu -> (gpu -> cpu -> gpu ...) three times, else cpu -> gpu -> cpu
  unsigned items = 0;
  bool plant = false;          ///< one item more is expected than is there
  std::vector<int> through{};  ///< of a line: numbers of further devices, each with a stage behind the first one's
};

/// *Threads*: one.
class Ending {
 public:
  Ending() = default;
  Ending(Ending const&) = delete;
  Ending& operator=(Ending const&) = delete;
  virtual ~Ending() = default;

  /// One run's RunReport::end_detection_us. `wrong` is set when an item is missing or came too often.
  [[nodiscard]] virtual double run(std::string& wrong) = 0;
  /// The median of so many; of fewer when one is wrong.
  [[nodiscard]] double median_of(unsigned runs, std::string& wrong);
};

[[nodiscard]] std::unique_ptr<Ending> make_ending(EndingSetup const& setup);

}  // namespace bench
