#include "face_detection/cascade.hpp"

#include <expat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>
#include <type_traits>

#include "cli/bad_input.hpp"
#include "cli/text.hpp"
#include "face_detection/built_in.hpp"

namespace face_detection {
namespace {

/// An element with its text and what is in it.
struct Element {
  std::string name;
  std::size_t line = 0;
  std::string type_id;  // the only attribute that counts
  std::string text;
  std::vector<Element> children;
};

constexpr std::size_t max_file_bytes = std::size_t{64} << 20;
constexpr std::size_t max_depth = 32;
constexpr std::size_t max_elements = 1'000'000;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

/// Reads a file into elements. expat is C: what goes wrong in its callbacks is kept, and thrown when it has returned.
class Document {
 public:
  explicit Document(std::string const& path) : path_(path), parser_(XML_ParserCreate(nullptr)) {
    if (parser_ == nullptr) throw std::bad_alloc{};
    XML_SetUserData(parser_.get(), this);
    XML_SetElementHandler(
        parser_.get(),
        [](void* self, XML_Char const* name, XML_Char const** attributes) {
          static_cast<Document*>(self)->open(name, attributes);
        },
        [](void* self, XML_Char const*) { static_cast<Document*>(self)->close(); });
    XML_SetCharacterDataHandler(parser_.get(), [](void* self, XML_Char const* text, int length) {
      static_cast<Document*>(self)->add_text({text, static_cast<std::size_t>(length)});
    });
    // Nothing that a cascade needs, and a way to make a small file large.
    XML_SetStartDoctypeDeclHandler(parser_.get(),
                                   [](void* self, XML_Char const*, XML_Char const*, XML_Char const*, int) {
                                     static_cast<Document*>(self)->stop("has a document type");
                                   });
  }

  Element read(File const& file) {
    if (file == nullptr) throw cli::BadInput{path_ + ": cannot be opened: " + std::strerror(errno)};
    std::array<char, 1 << 16> buffer{};
    std::size_t bytes = 0;
    for (bool last = false; !last;) {
      std::size_t const got = std::fread(buffer.data(), 1, buffer.size(), file.get());
      if (std::ferror(file.get()) != 0) throw cli::BadInput{path_ + ": cannot be read: " + std::strerror(errno)};
      bytes += got;
      last = got == 0;
      if (last && bytes == 0) throw cli::BadInput{path_ + ": empty"};
      if (bytes > max_file_bytes)
        throw cli::BadInput{path_ + ": larger than " + std::to_string(max_file_bytes) + " bytes"};
      if (XML_Parse(parser_.get(), buffer.data(), static_cast<int>(got), last ? 1 : 0) == XML_STATUS_OK) continue;
      std::string const why =
          problem_.empty() ? std::string{"not XML: "} + XML_ErrorString(XML_GetErrorCode(parser_.get())) : problem_;
      throw cli::BadInput{path_ + ": line " + std::to_string(line()) + ": " + why};
    }
    return std::move(root_);
  }

 private:
  struct Free {
    void operator()(XML_Parser parser) const { XML_ParserFree(parser); }
  };

  [[nodiscard]] std::size_t line() const { return XML_GetCurrentLineNumber(parser_.get()); }
  void stop(std::string const& problem) {
    problem_ = problem;
    XML_StopParser(parser_.get(), XML_FALSE);
  }

  void open(XML_Char const* name, XML_Char const** attributes) {
    if (open_.size() == max_depth) return stop("deeper than " + std::to_string(max_depth) + " elements");
    if (++elements_ > max_elements) return stop("more than " + std::to_string(max_elements) + " elements");
    // Behind the root nothing can follow, and an open element's siblings are complete: no address in open_ gets stale.
    Element* const element = open_.empty() ? &root_ : &open_.back()->children.emplace_back();
    element->name = name;
    element->line = line();
    for (; *attributes != nullptr; attributes += 2) {
      if (std::string_view{attributes[0]} == "type_id") element->type_id = attributes[1];
    }
    open_.push_back(element);
  }
  void close() { open_.pop_back(); }
  void add_text(std::string_view text) { open_.back()->text += text; }

  std::string const& path_;
  std::unique_ptr<std::remove_pointer_t<XML_Parser>, Free> parser_;
  Element root_;
  std::vector<Element*> open_;
  std::size_t elements_ = 0;
  std::string problem_;
};

/// Turns elements into the cascade; knows the file for what it complains about.
class Interpreter {
 public:
  explicit Interpreter(std::string const& path) : path_(path) {}

  Cascade operator()(Element const& root) const {
    if (root.name != "opencv_storage" || root.children.empty())
      fail(root, "not a cascade: no <opencv_storage> with content");
    Element const& top = root.children.front();
    if (top.type_id == "opencv-haar-classifier")
      fail(top, "a cascade in the format of OpenCV 1: only the newer one is read");
    if (top.type_id != "opencv-cascade-classifier")
      fail(top, "not a cascade: type_id is " + cli::shown(top.type_id) + ", not 'opencv-cascade-classifier'");
    require_text(top, "featureType", "LBP");
    require_text(top, "stageType", "BOOST");
    Element const& categories = child(child(top, "featureParams"), "maxCatCount");
    if (number<std::int32_t>(categories) != 256)
      fail(categories, "an LBP feature has 256 codes, not " + trimmed(categories));

    Cascade cascade;
    cascade.window_width = window_side(child(top, "width"));
    cascade.window_height = window_side(child(top, "height"));
    for (Element const& feature : child(top, "features").children)
      cascade.features.push_back(read_feature(cascade, feature));
    Element const& stages = child(top, "stages");
    for (Element const& stage : stages.children) read_stage(cascade, stage);
    if (cascade.stages.empty()) fail(stages, "no stages");
    Element const& count = child(top, "stageNum");
    if (number<std::int64_t>(count) != static_cast<std::int64_t>(cascade.stages.size()))
      fail(count,
           "stageNum is " + trimmed(count) + ", but there are " + std::to_string(cascade.stages.size()) + " stages");
    return cascade;
  }

 private:
  [[noreturn]] void fail(Element const& element, std::string const& what) const {
    throw cli::BadInput{path_ + ": line " + std::to_string(element.line) + ": " + what};
  }

  Element const& child(Element const& element, std::string_view name) const {
    auto const found = std::ranges::find(element.children, name, &Element::name);
    if (found == element.children.end()) fail(element, "<" + element.name + "> without <" + std::string{name} + ">");
    return *found;
  }

  static constexpr std::string_view space = " \t\r\n";
  static std::string trimmed(Element const& element) {
    std::size_t const begin = element.text.find_first_not_of(space);
    if (begin == std::string::npos) return "";
    return element.text.substr(begin, std::min<std::size_t>(element.text.find_last_not_of(space) + 1 - begin, 40));
  }

  void require_text(Element const& parent, std::string_view name, std::string_view wanted) const {
    Element const& element = child(parent, name);
    std::string const text = trimmed(element);
    if (text != wanted)
      fail(element, std::string{name} + " is " + cli::shown(text) + ": only " + std::string{wanted} + " is supported");
  }

  /// All of an element's text, as numbers.
  template <class Number>
  [[nodiscard]] std::vector<Number> numbers(Element const& element) const {
    std::vector<Number> values;
    std::string_view rest = element.text;
    for (;;) {
      rest.remove_prefix(std::min(rest.find_first_not_of(space), rest.size()));
      if (rest.empty()) return values;
      std::string_view const word = rest.substr(0, rest.find_first_of(space));
      Number value{};
      auto const [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
      bool good = error == std::errc{} && end == word.data() + word.size();
      if constexpr (std::is_floating_point_v<Number>) good = good && std::isfinite(static_cast<float>(value));
      if (!good) fail(element, "<" + element.name + ">: " + cli::shown(word) + " is not a number that fits");
      values.push_back(value);
      rest.remove_prefix(word.size());
    }
  }
  template <class Number>
  [[nodiscard]] Number number(Element const& element) const {
    std::vector<Number> const values = numbers<Number>(element);
    if (values.size() != 1)
      fail(element, "<" + element.name + "> has " + std::to_string(values.size()) + " numbers, not 1");
    return values.front();
  }

  [[nodiscard]] std::int32_t window_side(Element const& element) const {
    auto const side = number<std::int32_t>(element);
    if (side < 3 || side > max_window_side)
      fail(element, "the window's " + element.name + " is " + std::to_string(side) + ", not 3 to " +
                        std::to_string(max_window_side));
    return side;
  }

  [[nodiscard]] Feature read_feature(Cascade const& cascade, Element const& element) const {
    Element const& rect = child(element, "rect");
    auto const r = numbers<std::int32_t>(rect);
    if (r.size() != 4) fail(rect, "a feature has 4 numbers, not " + std::to_string(r.size()));
    auto const fits = [](std::int32_t first, std::int32_t extent, std::int32_t side) {
      return first >= 0 && extent >= 1 && extent <= side && first + 3 * extent <= side;
    };
    if (r[0] > max_window_side || r[1] > max_window_side || !fits(r[0], r[2], cascade.window_width) ||
        !fits(r[1], r[3], cascade.window_height))
      fail(rect, "the feature's 3 x 3 cells do not lie in the window");
    auto const byte = [](std::int32_t value) { return static_cast<std::uint8_t>(value); };
    return {byte(r[0]), byte(r[1]), byte(r[2]), byte(r[3])};
  }

  void read_stage(Cascade& cascade, Element const& element) const {
    Element const& weaks = child(element, "weakClassifiers");
    // In single precision, the subtraction too: as OpenCV has it.
    float const threshold = static_cast<float>(number<double>(child(element, "stageThreshold"))) - 1e-5F;
    if (weaks.children.empty()) fail(weaks, "a stage without weak classifiers");
    cascade.stages.push_back(
        {static_cast<std::int32_t>(cascade.weaks.size()), static_cast<std::int32_t>(weaks.children.size()), threshold});
    for (Element const& weak : weaks.children) cascade.weaks.push_back(read_weak(cascade, weak));
  }

  [[nodiscard]] WeakClassifier read_weak(Cascade const& cascade, Element const& element) const {
    constexpr std::size_t node_numbers = 3 + 8;  // left, right, feature, subset
    Element const& nodes = child(element, "internalNodes");
    Element const& leaves = child(element, "leafValues");
    auto const n = numbers<std::int32_t>(nodes);
    auto const leaf = numbers<double>(leaves);
    if (n.empty() || n.size() % node_numbers != 0)
      fail(nodes, "an inner node has 11 numbers; there are " + std::to_string(n.size()));
    if (n.size() != node_numbers)
      fail(nodes,
           "a tree of " + std::to_string(n.size() / node_numbers) + " inner nodes: only trees of one are supported");
    if (n[0] != 0 || n[1] != -1) fail(nodes, "the inner node does not lead to leaves 0 and 1");
    if (leaf.size() != 2) fail(leaves, "a tree of one inner node has 2 leaves, not " + std::to_string(leaf.size()));
    if (n[2] < 0 || static_cast<std::size_t>(n[2]) >= cascade.features.size())
      fail(nodes, "feature " + std::to_string(n[2]) + " of " + std::to_string(cascade.features.size()));
    WeakClassifier weak{n[2], static_cast<float>(leaf[0]), static_cast<float>(leaf[1]), {}};
    for (std::size_t i = 0; i < 8; ++i) weak.subset[i] = static_cast<std::uint32_t>(n[3 + i]);
    return weak;
  }

  std::string const& path_;
};

}  // namespace

Cascade read_cascade(std::string const& path) {
  errno = 0;
  return Interpreter{path}(Document{path}.read(File{std::fopen(path.c_str(), "rb")}));
}

Cascade frontal_face_cascade() {
  std::string const name = "the cascade that is built in";
  std::string text{frontal_face_xml};
  errno = 0;
  return Interpreter{name}(Document{name}.read(File{::fmemopen(text.data(), text.size(), "rb")}));
}

}  // namespace face_detection
