#include "base/metrics/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <sstream>

namespace podwright {
namespace {

constexpr char kOther[] = "other";

[[noreturn]] void die(const std::string& name, const char* why) {
  std::fprintf(stderr, "metric %s: %s\n", name.c_str(), why);
  std::abort();
}

// The library throws for a name that is malformed or taken.
template <class Builder>
auto& build(Builder builder, const std::string& name, const std::string& help, prometheus::Registry& registry) {
  try {
    return builder.Name(name).Help(help).Register(registry);
  } catch (const std::exception& e) {
    die(name, e.what());
  }
}

std::vector<std::string> closed(const std::vector<LabelSpec>& labels, std::initializer_list<std::string_view> values) {
  std::vector<std::string> known;
  known.reserve(labels.size());
  auto value = values.begin();
  for (const LabelSpec& label : labels) {
    const std::string_view wanted = value == values.end() ? std::string_view() : *value++;
    const bool listed = std::find(label.values.begin(), label.values.end(), wanted) != label.values.end();
    known.emplace_back(listed ? wanted : std::string_view(kOther));
  }
  return known;
}

}  // namespace

void Counter::add(double by) {
  counter_->Increment(by);
}
double Counter::value() const {
  return counter_->Value();
}
void Gauge::set(double value) {
  gauge_->Set(value);
}
void Gauge::add(double by) {
  gauge_->Increment(by);
}
double Gauge::value() const {
  return gauge_->Value();
}
void Histogram::observe(double value) {
  histogram_->Observe(value);
}

Buckets default_buckets() {
  return {.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10};
}

Buckets exponential_buckets(double start, double factor, int count) {
  Buckets bounds;
  for (int i = 0; i < count; ++i, start *= factor) bounds.push_back(start);
  return bounds;
}

template <class Metric>
Metric& Family<Metric>::with(std::initializer_list<std::string_view> values) {
  std::vector<std::string> key = closed(labels_, values);
  const auto found = series_.find(key);
  if (found != series_.end()) return found->second;
  std::map<std::string, std::string> named;
  for (std::size_t i = 0; i < labels_.size(); ++i) named[labels_[i].name] = key[i];
  return series_.emplace(std::move(key), make_(named)).first->second;
}

template class Family<Counter>;
template class Family<Gauge>;
template class Family<Histogram>;

Samples::FamilySamples& Samples::family(const std::string& name, Type type, std::string_view help) {
  const auto [place, fresh] = families_.try_emplace(name);
  if (fresh) {
    place->second.type = type;
    place->second.help = std::string(help);
  }
  return place->second;
}

void Samples::add(const std::string& name, Type type, std::string_view help, Labels labels, double value,
                  int64_t timestamp_ms) {
  family(name, type, help).samples.push_back({std::move(labels), value, timestamp_ms});
}

struct Registry::State {
  prometheus::Registry registry{prometheus::Registry::InsertBehavior::Throw};
  // Deques, since references into them are handed out.
  std::deque<Counter> counter;
  std::deque<Gauge> gauge;
  std::deque<Histogram> histogram;
  std::deque<Family<Counter>> counters;
  std::deque<Family<Gauge>> gauges;
  std::deque<Family<Histogram>> histograms;
  std::vector<std::function<void(Samples&)>> collectors;
};

Registry::Registry() : state_(std::make_unique<State>()) {}
Registry::~Registry() = default;

Counter& Registry::counter(const std::string& name, const std::string& help) {
  auto& family = build(prometheus::BuildCounter(), name, help, state_->registry);
  return state_->counter.emplace_back(&family.Add({}));
}

Gauge& Registry::gauge(const std::string& name, const std::string& help) {
  auto& family = build(prometheus::BuildGauge(), name, help, state_->registry);
  return state_->gauge.emplace_back(&family.Add({}));
}

Histogram& Registry::histogram(const std::string& name, const std::string& help, Buckets buckets) {
  auto& family = build(prometheus::BuildHistogram(), name, help, state_->registry);
  return state_->histogram.emplace_back(&family.Add({}, buckets));
}

Family<Counter>& Registry::counters(const std::string& name, const std::string& help, std::vector<LabelSpec> labels) {
  auto& family = build(prometheus::BuildCounter(), name, help, state_->registry);
  return state_->counters.emplace_back(std::move(labels),
                                       [&family](const auto& named) { return Counter(&family.Add(named)); });
}

Family<Gauge>& Registry::gauges(const std::string& name, const std::string& help, std::vector<LabelSpec> labels) {
  auto& family = build(prometheus::BuildGauge(), name, help, state_->registry);
  return state_->gauges.emplace_back(std::move(labels),
                                     [&family](const auto& named) { return Gauge(&family.Add(named)); });
}

Family<Histogram>& Registry::histograms(const std::string& name, const std::string& help, std::vector<LabelSpec> labels,
                                        Buckets buckets) {
  auto& family = build(prometheus::BuildHistogram(), name, help, state_->registry);
  return state_->histograms.emplace_back(std::move(labels), [&family, buckets = std::move(buckets)](const auto& named) {
    return Histogram(&family.Add(named, buckets));
  });
}

void Registry::at_scrape(std::function<void(Samples&)> collect) {
  state_->collectors.push_back(std::move(collect));
}

std::string Registry::render() const {
  std::vector<prometheus::MetricFamily> families = state_->registry.Collect();
  Samples samples;
  for (const auto& collect : state_->collectors) collect(samples);
  for (const auto& [name, from] : samples.families()) {
    prometheus::MetricFamily family;
    family.name = name;
    family.help = from.help;
    const bool counts = from.type == Samples::Type::kCounter;
    family.type = counts ? prometheus::MetricType::Counter : prometheus::MetricType::Gauge;
    for (const Samples::Sample& sample : from.samples) {
      prometheus::ClientMetric metric;
      for (const auto& [label, value] : sample.labels) metric.label.push_back({label, value});
      (counts ? metric.counter.value : metric.gauge.value) = sample.value;
      metric.timestamp_ms = sample.timestamp_ms;
      family.metric.push_back(std::move(metric));
    }
    families.push_back(std::move(family));
  }
  std::erase_if(families, [](const prometheus::MetricFamily& family) { return family.metric.empty(); });
  std::sort(families.begin(), families.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, families);
  return out.str();
}

LoopMetrics::LoopMetrics(Registry& registry)
    : busy(registry.histogram("podwright_loop_busy_seconds",
                              "How long the loop was busy between two looks at the kernel.",
                              {.0001, .0005, .001, .002, .005, .01, .02, .05, .1, .5, 1})) {}

}  // namespace podwright
