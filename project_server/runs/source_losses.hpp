// The training loss of each source, from the losses of whole contributions.
//
// A contribution's record has the sum of its samples' losses, and not by source. But each sample's
// source is known (peer/formats/sample_draws.hpp), and by chance some contributions have more
// samples of a source than others. A least-squares fit finds the losses that explain the sums, with
// their errors, so members need not report more. A member that lies about its losses moves the fit
// as it moves the run's training loss, and no further; no credit depends on either.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

namespace dedloc::runs {

/// A mean loss in nats and its standard error.
struct LossEstimate {
    double loss = 0;   ///< mean over samples
    double error = 0;  ///< standard error
    bool operator==(const LossEstimate&) const = default;
};

/// Fits, for the newer half of the last contributions added,
///
///     loss_sum = Σ_s samples_s · loss_s + samples · slope · (step − last step)
///
/// by least squares, each contribution weighted by 1 ÷ samples, which is the inverse of its
/// variance. The slope, common to all sources, takes up the progress of the training, so the
/// estimates are those of the last step. The older half is left out, as a loss falls fast at first
/// and sources do not fall alike, which no common slope explains. With K contributions of a
/// mixture, the difference of two sources with equal weights has an error of about 2 σ ÷ √(K ÷ 2),
/// σ the deviation of a sample's loss, however many samples a contribution has.
class SourceLosses {
  public:
    /// Contributions of which a fit uses the newer half.
    static constexpr std::size_t kWindow = 4'000;

    /// A run with this number of sources.
    explicit SourceLosses(std::size_t sources) : sources_(sources) {}

    /// Adds a contribution to the round of `step`, which must not decrease. `samples`: those of
    /// each source. Ignores one without samples.
    void add(std::uint64_t step, std::span<const std::uint64_t> samples, double loss_sum);
    /// The loss of each source; nothing for one without samples, and for all if the contributions
    /// do not tell the sources apart. Cost: O(contributions × sources²).
    std::vector<std::optional<LossEstimate>> estimate() const;

  private:
    struct Line {
        std::uint64_t step = 0;
        std::vector<double> samples;  ///< those of each source
        double total = 0;             ///< their sum
        double loss_sum = 0;
    };
    /// The first contribution of a fit.
    std::deque<Line>::const_iterator newer() const {
        return lines_.begin() + static_cast<std::ptrdiff_t>(lines_.size() / 2);
    }
    std::vector<std::size_t> sources_seen() const;

    std::size_t sources_;
    std::deque<Line> lines_;
};

}  // namespace dedloc::runs
