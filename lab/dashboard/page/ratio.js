// The ratio of two sides with its interval, as `quiver-verdict` computes it: the median of ratios of all pairs, and the ratios
// that are as far from both ends as the file `ends` says.

/** The middle of numbers. */
quiver.median = numbers => {
  if (!numbers.length) return null;
  const sorted = Float64Array.from(numbers).sort();
  const half = sorted.length >> 1;
  return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
};

const middle = sorted => {
  const last = sorted.length - 1;
  return Math.exp((sorted[last >> 1] + sorted[(last + 1) >> 1]) / 2);
};

/** Pairs [parent, current], where each two samples that follow each other in time are one of each side. */
const pairsOf = samples => {
  if (samples.length <= 2 || samples.length % 2) return null;
  const pairs = [];
  for (let at = 0; at < samples.length; at += 2) {
    const [one, other] = [samples[at], samples[at + 1]];
    if (one.side === other.side) return null;
    pairs.push(one.side === 0 ? [one.value, other.value] : [other.value, one.value]);
  }
  return pairs;
};

/**
 * Compares samples of two sides, [{ time, value }] each: { estimate, low, high, isPaired }, or { why } where they have no
 * ratio. Of each side the newest `ends.most` count.
 */
quiver.ratio = (parent, current, ends) => {
  const newest = side => side.slice(-ends.most);
  const sides = [newest(parent), newest(current)];
  if (sides.some(side => side.some(({ value }) => !(value > 0)))) return { why: "a value is zero: there is no ratio" };
  const together = sides.flatMap((side, at) => side.map(sample => ({ ...sample, side: at })));
  together.sort((one, other) => one.time - other.time || one.side - other.side);
  const pairs = pairsOf(together);
  let [candidates, left] = [[], -1];
  if (pairs) {
    const logs = pairs.map(([one, other]) => Math.log(other) - Math.log(one));
    logs.forEach((one, at) => logs.slice(at).forEach(other => candidates.push((one + other) / 2)));
    left = ends.paired[pairs.length - 1];
  } else {
    const [one, other] = sides.map(side => side.map(({ value }) => Math.log(value)));
    for (const from of one) for (const to of other) candidates.push(to - from);
    const [many, few] = [Math.max(one.length, other.length), Math.min(one.length, other.length)];
    left = ends.unpaired[many - 1][few - 1];
  }
  candidates = Float64Array.from(candidates).sort();
  const last = candidates.length - 1;
  const [low, high] = left < 0 ? [0, Infinity] : [Math.exp(candidates[left]), Math.exp(candidates[last - left])];
  return { estimate: middle(candidates), low, high, isPaired: pairs !== null };
};

/** The verdict on a ratio, as the gate gives it: `smallest` is the share that matters. */
quiver.verdict = (ratio, isCost, smallest) => {
  const turn = value => (isCost ? 1 / value : value);
  const [low, high] = isCost ? [turn(ratio.high), turn(ratio.low)] : [ratio.low, ratio.high];
  const [estimate, slower, faster] = [turn(ratio.estimate), 1 - smallest, 1 / (1 - smallest)];
  if (high < 1 && estimate <= slower) return "regression";
  if (low > 1 && estimate >= faster) return "progression";
  return low > slower && high < faster ? "same" : "undecided";
};

/** How many samples lie more than three interquartile ranges outside of the quartiles. */
quiver.outliers = values => {
  const sorted = Float64Array.from(values).sort();
  const quantile = share => {
    const at = share * (sorted.length - 1);
    const [below, above] = [sorted[Math.floor(at)], sorted[Math.ceil(at)]];
    return below + (above - below) * (at - Math.floor(at));
  };
  const [lower, upper] = [quantile(0.25), quantile(0.75)];
  const reach = 3 * (upper - lower);
  return values.filter(value => value < lower - reach || value > upper + reach).length;
};
