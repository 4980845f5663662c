// Checks a certificate's proofs by multiplying them out, in a representation of its own: products of names.
#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <map>
#include <set>

#include "lib/json.hpp"
#include "lib/plan/certificate.hpp"

namespace hiway::plan {
namespace {

using Exact = boost::multiprecision::cpp_rational;
using Product = std::multiset<std::string>;
using Terms = std::map<Product, Exact>;

class Verifier {
 public:
  explicit Verifier(std::string_view text)
      : root_(parse_json(text)),
        file_(root_, "",
              {"symbols", "least", "params", "bound", "floors", "domain", "statements", "rests", "waits", "facts"}) {}

  std::string fault() {
    for (Json const& name : items(file_, "params")) params_.insert(name.text);
    for (Json const& statement : items(file_, "statements")) {
      JsonObject const own(statement, "/statements",
                           {"task", "process", "position", "loops", "values", "domain", "windows", "times"});
      times_.push_back(terms_of(items(own, "times")));
    }
    std::size_t number = 0;
    for (Json const& fact : items(file_, "facts")) {
      JsonObject const own(fact, "/facts", {"what", "given", "at_least_0", "proof"});
      if (!shows(terms_of(own.get("at_least_0")), terms_of(items(own, "given")), own.get("proof")))
        return "fact " + std::to_string(number) + " (" + own.text("what") + ") does not follow";
      ++number;
    }
    number = 0;
    for (Json const& wait : items(file_, "waits")) {
      if (!holds(wait)) return "wait " + std::to_string(number) + " is not shown";
      ++number;
    }
    return "";
  }

 private:
  static std::vector<Json> const& items(JsonObject const& object, char const* key) {
    require(object.get(key), Json::Kind::list, object.pointer(key));
    return object.get(key).items;
  }
  static Exact exact(Json const& value) {
    require(value, Json::Kind::text, "");
    bool const digits = !value.text.empty() && std::ranges::all_of(value.text, [](char c) {
      return (c >= '0' && c <= '9') || c == '-' || c == '/';
    });
    try {
      if (digits) return Exact(value.text);
    } catch (std::exception const&) {
    }
    fail_at(value.place, "", "a fraction is needed, not '" + value.text + "'");
  }
  static Terms terms_of(Json const& value) {
    require(value, Json::Kind::object, "");
    Terms terms;
    for (JsonMember const& member : value.members) {
      Product product;
      for (std::size_t at = 0; at < member.key.size();) {
        std::size_t const end = std::min(member.key.find('*', at), member.key.size());
        product.insert(member.key.substr(at, end - at));
        at = end + 1;
      }
      terms[product] += exact(member.value);
    }
    return terms;
  }
  static std::vector<Terms> terms_of(std::vector<Json> const& list) {
    std::vector<Terms> all;
    for (Json const& one : list) all.push_back(terms_of(one));
    return all;
  }
  static Terms times(Terms const& a, Terms const& b) {
    Terms all;
    for (auto const& [m, x] : a) {
      for (auto const& [n, y] : b) {
        Product product = m;
        product.insert(n.begin(), n.end());
        all[product] += x * y;
      }
    }
    return all;
  }
  static void add(Terms& to, Terms const& other, Exact const& factor) {
    for (auto const& [product, x] : other) to[product] += factor * x;
  }
  static Terms with(Terms const& p, std::string const& name, Terms const& by) {
    Terms all;
    for (auto const& [product, x] : p) {
      Product rest = product;
      Terms term{{{}, x}};
      for (std::size_t n = rest.erase(name); n > 0; --n) term = times(term, by);
      add(all, times(term, {{rest, 1}}), 1);
    }
    return all;
  }
  /// `p` in a second task's variables.
  [[nodiscard]] Terms as_second(Terms const& p) const {
    Terms all;
    for (auto const& [product, x] : p) {
      Product renamed;
      for (std::string const& name : product) renamed.insert(params_.contains(name) ? name : name + "'");
      all[renamed] += x;
    }
    return all;
  }

  /// Whether the claim is the sum of the products that the proof lists, and no factor is below 0.
  static bool shows(Terms claim, std::vector<Terms> const& given, Json const& proof) {
    require(proof, Json::Kind::list, "");
    for (Json const& term : proof.items) {
      require(term, Json::Kind::list, "");
      if (term.items.size() != 2) return false;
      Exact const factor = exact(term.items[0]);
      if (factor < 0) return false;
      Terms product{{{}, 1}};
      require(term.items[1], Json::Kind::list, "");
      for (Json const& number : term.items[1].items) {
        require(number, Json::Kind::integer, "");
        if (number.integer < 0 || static_cast<std::size_t>(number.integer) >= given.size()) return false;
        product = times(product, given[static_cast<std::size_t>(number.integer)]);
      }
      add(claim, product, -factor);
    }
    return std::ranges::all_of(claim, [](auto const& one) { return one.second == 0; });
  }

  bool holds(Json const& wait) {
    JsonObject const own(wait, "/waits",
                         {"what", "later", "earlier", "later_window", "earlier_window", "order", "empty", "replaced",
                          "given", "proofs"});
    std::vector<Terms> const given = terms_of(items(own, "given"));
    std::vector<Json> const& proofs = items(own, "proofs");
    if (own.boolean("empty")) return proofs.size() == 1 && shows({{{}, -1}}, given, proofs[0]);
    auto const later = static_cast<std::size_t>(own.integer("later"));
    auto const earlier = static_cast<std::size_t>(own.integer("earlier"));
    if (later >= times_.size() || earlier >= times_.size() || proofs.empty()) return false;
    for (std::size_t entry = 0; entry < proofs.size(); ++entry) {
      if (entry >= times_[later].size() || entry >= times_[earlier].size()) return false;
      Terms claim = times_[later][entry];
      add(claim, as_second(times_[earlier][entry]), -1);
      for (Json const& one : items(own, "replaced")) {
        require(one, Json::Kind::list, "");
        if (one.items.size() != 2) return false;
        claim = with(claim, one.items[0].text, terms_of(one.items[1]));
      }
      if (entry + 1 == proofs.size()) claim[{}] -= 1;
      if (!shows(claim, given, proofs[entry])) return false;
    }
    return true;
  }

  Json root_;
  JsonObject file_;
  std::set<std::string> params_;
  std::vector<std::vector<Terms>> times_;  // of each statement
};

}  // namespace

std::string fault_of(std::string_view certificate) { return Verifier(certificate).fault(); }

}  // namespace hiway::plan
