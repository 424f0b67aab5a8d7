// Rows of a vector, scaled to length 1: SwAV's prototypes.
#pragma once

#include <span>

#include "kernels/segment_table.hpp"
#include "kernels/workers.hpp"

namespace dedloc::kernels {

/// Scales each row to length 1, in place. The rows are the tensors of a table.
///
///     norm = √ Σ row[i]²                     in double, by the rule of reduction.hpp for each row
///     row[i] = float(row[i] ÷ norm)          divided in double
///
/// A row whose norm is 0 or not finite stays as it is.
///
/// Shapes    values N ≥ rows.end(); elements in no row are not touched
/// Requires  the extent above      (aborts)
/// Thread    any
/// Cost      4 + 8 = 12 bytes an element; a row of less than 1,024 elements costs the sums of 1,024
/// Source    torch.nn.functional.normalize, which SwAV applies to its prototypes; differs: divides
///           by the norm itself, while torch's is fp32 and at least 10⁻¹²
void unit_rows(std::span<float> values, const SegmentTable& rows,
               const Workers& workers = ThisThread{});

}  // namespace dedloc::kernels
