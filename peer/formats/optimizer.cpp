// Names are found in the arrays that name_of() uses.
#include "peer/formats/optimizer.hpp"

namespace dedloc::formats {
namespace {

template <class Value, std::size_t kCount>
std::optional<Value> named(const std::array<const char*, kCount>& names, std::string_view name) {
    for (std::size_t i = 0; i < kCount; ++i) {
        if (name == names[i]) return static_cast<Value>(i);
    }
    return std::nullopt;
}

}  // namespace

std::optional<Optimizer> optimizer_named(std::string_view name) {
    return named<Optimizer>(kOptimizerNames, name);
}

std::optional<Schedule> schedule_named(std::string_view name) {
    return named<Schedule>(kScheduleNames, name);
}

OptimizerSpec usual_settings(Optimizer optimizer) {
    OptimizerSpec spec;
    spec.name = optimizer;
    if (optimizer == Optimizer::kSgd) {
        spec.learning_rate = 0.1;
        spec.weight_decay = 1e-4;
    } else if (optimizer == Optimizer::kSgdLarc) {
        spec.schedule = Schedule::kCosine;
        spec.learning_rate = 2.4;
        spec.final_learning_rate = 0.0048;
        spec.epsilon = 1e-8;
        spec.weight_decay = 1e-6;
        spec.clip_norm = 0;
    }
    return spec;
}

}  // namespace dedloc::formats
