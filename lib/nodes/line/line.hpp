// Line: a NodeLine on a Network. One submission to each node in a step; lanes as line_lane.hpp says.
//
//   U1  What is counted begins at 0 in each run. begin() meets the others twice: after the first time all that they
//       sent before is here, since a node's words arrive in order (network.hpp O1); then each node sets its words
//       to 0; after the second time all have done so. A meeting's number is of its run, not a count: a run may begin on
//       some nodes only, since it fails on others before they meet.
//   U2  What a node sends last is that its departures have ended. The network may still need its progress then. So
//       step() is called until all nodes are done, not only this one.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "lib/nodes/meeting.hpp"
#include "lib/nodes/node_line.hpp"
#include "lib/nodes/line/arrived_words.hpp"
#include "lib/nodes/line/line_in.hpp"
#include "lib/nodes/line/line_mail.hpp"
#include "lib/nodes/line/line_out.hpp"
#include "lib/nodes/line/network.hpp"

namespace hiway::detail::nodes {

/// *Threads*: one at a time.
class Line final : public NodeLine {
 public:
  /// As MakeNodeLine.
  Line(std::unique_ptr<Network> network, Meeting& meeting, std::vector<Departure> departures,
       std::vector<Arrival> arrivals, Deadline until);

  void begin(std::uint64_t run, std::function<void()> const& look) override;
  bool step() override;
  [[nodiscard]] bool is_done() const override;
  [[nodiscard]] bool is_near() const override { return is_near_; }
  [[nodiscard]] bool begin_nap() override { return network_->begin_nap() && !arrived_.step(); }
  void end_nap() override { network_->end_nap(); }
  [[nodiscard]] int descriptor() const override { return network_->descriptor(); }

 private:
  /// What a node tells the others: where its words `met` are, and its ends of lanes.
  struct Ends {
    std::uint64_t met = 0;
    std::vector<LaneAddress> lanes;
  };

  [[nodiscard]] Ends place(std::vector<Departure> const& departures, std::vector<Arrival> const& arrivals);
  [[nodiscard]] static std::vector<Ends> tell_all(Meeting& meeting, Ends const& own);
  void make_mails();
  void make_departure(Departure departure, LaneAddress const* own, std::vector<Ends> const& all);
  void make_arrival(Arrival arrival, LaneAddress const* own, std::vector<Ends> const& all);
  [[nodiscard]] LineMail& mail_to(std::uint32_t node) { return *mails_[node]; }

  void meet(std::uint64_t meeting, std::function<void()> const& look);
  template <class Done>
  void await(std::function<void()> const& look, Done done);
  [[nodiscard]] bool all_idle();
  void reset();

  std::uint32_t node_;
  std::uint32_t size_;
  std::vector<std::unique_ptr<std::byte[]>> copied_from_;  // of lanes
  std::unique_ptr<Network> network_;
  bool is_near_ = true;
  Word<std::uint64_t>* met_ = nullptr;         // in memory that others write; by the node that writes it
  std::vector<std::uint64_t> met_there_;       // by node: address of the word that this one writes
  std::vector<Word<std::uint64_t>*> landing_;  // of lanes, in memory that others write
  ArrivedWords arrived_;
  std::vector<std::unique_ptr<LineMail>> mails_;  // by node
  std::vector<std::unique_ptr<LineOut>> departures_;
  std::vector<std::unique_ptr<LineIn>> arrivals_;
};

}  // namespace hiway::detail::nodes
