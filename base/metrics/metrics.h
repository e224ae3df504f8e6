// Metrics: counters, gauges and histograms by name, and their text for a scrape (Prometheus exposition 0.0.4). A thin
// layer over prometheus-cpp's core, so that nothing above names it.
//
// Each folder has one struct of its metrics, built from a Registry in the composition root; a metric lives as long as
// its Registry. Counting may happen on any thread. A label's values are a closed list given at the start; a value that
// is not in it counts as "other", so that nothing from outside can make series without end. What would be a series per
// pod or container is not kept but written at scrape time from a snapshot (Registry::at_scrape).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace prometheus {
class Counter;
class Gauge;
class Histogram;
}  // namespace prometheus

namespace podwright {

class Counter {
 public:
  explicit Counter(prometheus::Counter* counter) : counter_(counter) {}
  void add(double by = 1);
  double value() const;

 private:
  prometheus::Counter* counter_;
};

class Gauge {
 public:
  explicit Gauge(prometheus::Gauge* gauge) : gauge_(gauge) {}
  void set(double value);
  void add(double by = 1);
  double value() const;

 private:
  prometheus::Gauge* gauge_;
};

class Histogram {
 public:
  explicit Histogram(prometheus::Histogram* histogram) : histogram_(histogram) {}
  void observe(double value);
  // In seconds.
  void observe(std::chrono::nanoseconds duration) { observe(std::chrono::duration<double>(duration).count()); }

 private:
  prometheus::Histogram* histogram_;
};

// A label and all the values that it may take.
struct LabelSpec {
  std::string name;
  std::vector<std::string> values;
};

using Buckets = std::vector<double>;
// Prometheus' own default, in seconds.
Buckets default_buckets();
// `count` bounds, each `factor` times the one before.
Buckets exponential_buckets(double start, double factor, int count);

// Metrics of one name that differ in their labels' values, which are given in the order of the LabelSpecs. A series
// comes into being with its first use.
template <class Metric>
class Family {
 public:
  using Make = std::function<Metric(const std::map<std::string, std::string>&)>;
  Family(std::vector<LabelSpec> labels, Make make) : labels_(std::move(labels)), make_(std::move(make)) {}

  // Of the loop thread only: the table of series has no lock.
  Metric& with(std::initializer_list<std::string_view> values);

 private:
  std::vector<LabelSpec> labels_;
  Make make_;
  std::map<std::vector<std::string>, Metric> series_;
};

// What a function called at scrape time writes: families of gauges or counters with any labels.
class Samples {
 public:
  using Labels = std::vector<std::pair<std::string, std::string>>;
  enum class Type { kCounter, kGauge };
  struct Sample {
    Labels labels;
    double value = 0;
    int64_t timestamp_ms = 0;  // 0: none is written
  };
  struct FamilySamples {
    Type type = Type::kGauge;
    std::string help;
    std::vector<Sample> samples;
  };

  // The family of that name, made at the first call.
  FamilySamples& family(const std::string& name, Type type, std::string_view help);
  void add(const std::string& name, Type type, std::string_view help, Labels labels, double value,
           int64_t timestamp_ms = 0);
  const std::map<std::string, FamilySamples>& families() const { return families_; }

 private:
  std::map<std::string, FamilySamples> families_;
};

class Registry {
 public:
  Registry();
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  // A name that is taken or malformed is a mistake in the program and ends it.
  Counter& counter(const std::string& name, const std::string& help);
  Gauge& gauge(const std::string& name, const std::string& help);
  Histogram& histogram(const std::string& name, const std::string& help, Buckets buckets);
  Family<Counter>& counters(const std::string& name, const std::string& help, std::vector<LabelSpec> labels);
  Family<Gauge>& gauges(const std::string& name, const std::string& help, std::vector<LabelSpec> labels);
  Family<Histogram>& histograms(const std::string& name, const std::string& help, std::vector<LabelSpec> labels,
                                Buckets buckets);

  // Calls `collect` at each scrape, on the thread that scrapes.
  void at_scrape(std::function<void(Samples&)> collect);

  // All families, by name.
  std::string render() const;

  // The Content-Type of render().
  static constexpr char kContentType[] = "text/plain; version=0.0.4; charset=utf-8";

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// How long the loop was busy between two looks at the kernel; fed by RealLoop::observe_turns.
struct LoopMetrics {
  explicit LoopMetrics(Registry& registry);
  Histogram& busy;
};

}  // namespace podwright
