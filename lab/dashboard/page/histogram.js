// HDR histograms of documents: version 2, compressed (RFC 1950), in base64, as HdrHistogram's libraries write them.

const COOKIE = 0x1c849303;
const COMPRESSED = 0x1c849304;

const inflated = async text => {
  const bytes = Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
  if ((new DataView(bytes.buffer).getUint32(0) & 0xffffff0f) !== (COMPRESSED & 0xffffff0f)) throw new Error("no HDR histogram of version 2");
  const stream = new Blob([bytes.subarray(8)]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new DataView(await new Response(stream).arrayBuffer());
};

/** Counts by value, in order: [{ value, count }], in the histogram's unit; `value` is the greatest that shares the count. */
const counts = view => {
  if ((view.getUint32(0) & 0xffffff0f) !== (COOKIE & 0xffffff0f)) throw new Error("no HDR histogram of version 2");
  const [length, digits, lowest] = [view.getUint32(4), view.getUint32(12), Number(view.getBigUint64(16))];
  const unitBits = Math.floor(Math.log2(Math.max(1, lowest)));
  const subBits = Math.ceil(Math.log2(2 * 10 ** digits));
  const half = 2 ** (subBits - 1);
  const all = [];
  let [at, index] = [40, 0];
  while (at < 40 + length) {
    // ZigZag of LEB128; the ninth byte has eight bits.
    let [value, shift] = [0n, 0n];
    for (let byte = 0; ; byte++) {
      const own = view.getUint8(at++);
      value |= BigInt(byte === 8 ? own : own & 0x7f) << shift;
      shift += 7n;
      if (byte === 8 || own < 0x80) break;
    }
    const number = Number((value >> 1n) ^ -(value & 1n));
    if (number < 0) { index -= number; continue; }
    if (number > 0) {
      const bucket = Math.max(0, Math.floor(index / half) - 1);
      const sub = index < 2 * half ? index : (index % half) + half;
      const size = 2 ** (bucket + unitBits);
      all.push({ value: (sub + 1) * size - 1, count: number });
    }
    index++;
  }
  return all;
};

/** A document's histogram: { total, steps: [{ value (us), rank (delays up to it), below (their share) }] }. */
quiver.delays = async latency => {
  const all = counts(await inflated(latency.hdrh));
  const total = all.reduce((sum, { count }) => sum + count, 0);
  if (total === 0) throw new Error("an empty histogram");
  const most = all[all.length - 1].value;
  // Microseconds, and nanoseconds in Quiver's documents of before December 2026: the greatest delay, which the document has in
  // microseconds, says which.
  const per = Math.abs(most / 1000 - latency.max) < Math.abs(most - latency.max) ? 1000 : 1;
  let passed = 0;
  const steps = all.map(({ value, count }) => ({ value: value / per, rank: (passed += count), below: passed / total }));
  return { total, steps };
};

/** A percentile in microseconds. */
quiver.percentile = (delays, percentile) => {
  const rank = Math.max(1, Math.ceil((percentile / 100) * delays.total));
  return (delays.steps.find(step => step.rank >= rank) || delays.steps[delays.steps.length - 1]).value;
};
