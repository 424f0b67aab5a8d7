#include "boinc_app/swav/batch_norm.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/sum.h>

#include "peer/base/check.hpp"

namespace dedloc::swav {
namespace {

/// As in PyTorch and torchvision.
constexpr double kNormEpsilon = 1e-5;
/// The cuDNN kernel may be used where there is one.
constexpr bool kAllowsCudnn = true;

std::vector<double> doubles_of(const at::Tensor& vector) {
    const at::Tensor values = vector.cpu().contiguous();
    const double* const first = values.const_data_ptr<double>();
    return {first, first + values.numel()};
}

/// Sums over all but the channels.
NormSums::Layer layer_sums(const at::Tensor& x) {
    const at::Tensor wide = x.detach().to(at::kDouble);
    std::vector<std::int64_t> others{0};
    for (std::int64_t axis = 2; axis < x.dim(); ++axis) others.push_back(axis);
    return {.count = static_cast<std::uint64_t>(x.numel() / x.size(1)),
            .sum = doubles_of(wide.sum(others)),
            .squares = doubles_of((wide * wide).sum(others))};
}

at::Tensor floats_like(const std::vector<double>& values, const at::Tensor& like) {
    const auto count = static_cast<std::int64_t>(values.size());
    return at::from_blob(const_cast<double*>(values.data()), {count}, at::dtype(at::kDouble))
        .to(like.options());
}

}  // namespace

at::Tensor BatchNorms::apply(const at::Tensor& x, const Affine& gain) {
    if (sums_ != nullptr) sums_->append(layer_sums(x));
    if (given_ == nullptr) {
        return at::batch_norm(x, gain.weight, gain.bias, {}, {}, true, 0, kNormEpsilon,
                              kAllowsCudnn);
    }
    DEDLOC_CHECK(next_ < given_->size(), "no statistics for a batch norm", next_);
    const NormStatistics& statistics = (*given_)[next_++];
    DEDLOC_CHECK(statistics.mean.size() == static_cast<std::size_t>(x.size(1)) &&
                     statistics.variance.size() == statistics.mean.size(),
                 "statistics of other channels", statistics.mean.size());
    return at::batch_norm(x, gain.weight, gain.bias, floats_like(statistics.mean, gain.weight),
                          floats_like(statistics.variance, gain.weight), false, 0, kNormEpsilon,
                          kAllowsCudnn);
}

}  // namespace dedloc::swav
