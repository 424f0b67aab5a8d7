#include "boinc_app/swav/swav_figures.hpp"

#include <algorithm>
#include <cmath>

#include "peer/base/check.hpp"

namespace dedloc::swav {
namespace {

template <class T>
void add_elements(std::vector<T>& to, const std::vector<T>& from) {
    if (to.empty()) to.resize(from.size());
    DEDLOC_CHECK(to.size() == from.size(), "figures of another task", from.size());
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
}

/// Entropy of the distribution that sums / total is, in nats.
double entropy_of(const std::vector<double>& sums, std::uint64_t total) {
    double entropy = 0;
    for (const double sum : sums) {
        const double part = sum / static_cast<double>(total);
        if (part > 0) entropy -= part * std::log(part);
    }
    return entropy;
}

}  // namespace

void SwavFigures::merge(const SwavFigures& other) {
    pictures += other.pictures;
    loss_sum += other.loss_sum;
    assigned += other.assigned;
    predicted += other.predicted;
    add_elements(assignments, other.assignments);
    add_elements(hits, other.hits);
    add_elements(predictions, other.predictions);
    add_elements(projections, other.projections);
    add_elements(squares, other.squares);
}

double SwavFigures::loss() const {
    return loss_sum / static_cast<double>(pictures);
}

double SwavFigures::gain() const {
    return std::log(static_cast<double>(hits.size())) - loss();
}

double SwavFigures::assignment_entropy() const {
    return entropy_of(assignments, assigned);
}

double SwavFigures::prediction_entropy() const {
    return entropy_of(predictions, predicted);
}

double SwavFigures::share(double entropy) const {
    return entropy / std::log(static_cast<double>(hits.size()));
}

std::size_t SwavFigures::used_prototypes() const {
    return hits.size() - static_cast<std::size_t>(std::ranges::count(hits, std::uint64_t{0}));
}

double SwavFigures::deviation() const {
    const auto count = static_cast<double>(predicted);
    double total = 0;
    for (std::size_t i = 0; i < squares.size(); ++i) {
        const double mean = projections[i] / count;
        total += std::sqrt(std::max(0.0, squares[i] / count - mean * mean));
    }
    return total / static_cast<double>(squares.size());
}

}  // namespace dedloc::swav
