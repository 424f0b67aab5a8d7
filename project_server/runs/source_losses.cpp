// The normal equations have at most seventeen unknowns, so they are inverted by elimination without
// pivoting: the matrix is symmetric and not negative, and a pivot that is small beside the diagonal
// says that the contributions cannot tell two sources apart.
#include "project_server/runs/source_losses.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "peer/base/check.hpp"

namespace dedloc::runs {
namespace {

using Matrix = std::vector<std::vector<double>>;

/// Part of a diagonal element that a pivot has to keep.
constexpr double kSmallestPivot = 1e-9;
/// Contributions beyond the number of unknowns, so that the errors mean something.
constexpr std::size_t kSpareLines = 10;

/// The inverse of a symmetric matrix; nothing if it has none, or almost none.
std::optional<Matrix> inverse_of(Matrix matrix) {
    const std::size_t n = matrix.size();
    Matrix inverse(n, std::vector<double>(n, 0));
    std::vector<double> diagonal;
    for (std::size_t i = 0; i < n; ++i) {
        inverse[i][i] = 1;
        diagonal.push_back(matrix[i][i]);
    }
    for (std::size_t i = 0; i < n; ++i) {
        const double pivot = matrix[i][i];
        if (!(pivot > kSmallestPivot * diagonal[i])) return std::nullopt;
        for (std::size_t k = 0; k < n; ++k) {
            matrix[i][k] /= pivot;
            inverse[i][k] /= pivot;
        }
        for (std::size_t row = 0; row < n; ++row) {
            const double factor = row == i ? 0 : matrix[row][i];
            for (std::size_t k = 0; k < n; ++k) {
                matrix[row][k] -= factor * matrix[i][k];
                inverse[row][k] -= factor * inverse[i][k];
            }
        }
    }
    return inverse;
}

/// A contribution as a row of the fit.
struct Row {
    std::vector<double> known;  ///< what the unknowns are multiplied with
    double loss_sum = 0;
    double samples = 0;  ///< variance, up to a factor
};

/// The unknowns with their errors; nothing if the rows do not determine them.
std::vector<LossEstimate> fit(const std::vector<Row>& rows) {
    if (rows.empty() || rows.size() < rows[0].known.size() + kSpareLines) return {};
    const std::size_t n = rows[0].known.size();
    Matrix normal(n, std::vector<double>(n, 0));
    std::vector<double> right(n, 0);
    for (const Row& row : rows) {
        for (std::size_t i = 0; i < n; ++i) {
            right[i] += row.known[i] * row.loss_sum / row.samples;
            for (std::size_t k = 0; k < n; ++k) {
                normal[i][k] += row.known[i] * row.known[k] / row.samples;
            }
        }
    }
    const auto inverse = inverse_of(std::move(normal));
    if (!inverse) return {};
    std::vector<LossEstimate> found(n);
    for (std::size_t i = 0; i < n; ++i) {
        found[i].loss = std::inner_product(right.begin(), right.end(), (*inverse)[i].begin(), 0.0);
    }
    double square = 0;
    for (const Row& row : rows) {
        double rest = row.loss_sum;
        for (std::size_t i = 0; i < n; ++i) rest -= row.known[i] * found[i].loss;
        square += rest * rest / row.samples;
    }
    const double variance = square / static_cast<double>(rows.size() - n);
    for (std::size_t i = 0; i < n; ++i) found[i].error = std::sqrt(variance * (*inverse)[i][i]);
    return found;
}

}  // namespace

void SourceLosses::add(std::uint64_t step, std::span<const std::uint64_t> samples,
                       double loss_sum) {
    DEDLOC_CHECK(samples.size() == sources_, "each source has a number", samples.size());
    DEDLOC_CHECK(lines_.empty() || lines_.back().step <= step, "steps ascend", step);
    Line line{.step = step, .samples = {samples.begin(), samples.end()}, .loss_sum = loss_sum};
    line.total = std::accumulate(line.samples.begin(), line.samples.end(), 0.0);
    if (line.total == 0) return;
    lines_.push_back(std::move(line));
    if (lines_.size() > kWindow) lines_.pop_front();
}

std::vector<std::size_t> SourceLosses::sources_seen() const {
    std::vector<std::size_t> seen;
    for (std::size_t i = 0; i < sources_; ++i) {
        if (std::any_of(newer(), lines_.end(),
                        [&](const Line& line) { return line.samples[i] > 0; })) {
            seen.push_back(i);
        }
    }
    return seen;
}

std::vector<std::optional<LossEstimate>> SourceLosses::estimate() const {
    std::vector<std::optional<LossEstimate>> losses(sources_);
    if (lines_.empty()) return losses;
    const std::vector<std::size_t> seen = sources_seen();
    const std::uint64_t last = lines_.back().step;
    const auto span = static_cast<double>(last - newer()->step);
    std::vector<Row> rows;
    for (auto at = newer(); at != lines_.end(); ++at) {
        const Line& line = *at;
        Row row{.known = {}, .loss_sum = line.loss_sum, .samples = line.total};
        for (const std::size_t source : seen) row.known.push_back(line.samples[source]);
        if (span > 0) {
            row.known.push_back(line.total * static_cast<double>(last - line.step) / span);
        }
        rows.push_back(std::move(row));
    }
    const std::vector<LossEstimate> found = fit(rows);
    if (found.empty()) return losses;
    for (std::size_t i = 0; i < seen.size(); ++i) losses[seen[i]] = found[i];
    return losses;
}

}  // namespace dedloc::runs
