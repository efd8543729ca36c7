// Numbers, units and dates as texts.

const PREFIXES = [[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];

/** Factor and unit in which values of up to `most` are shown: 12e6 pps as 12 Mpps. */
quiver.scaled = (unit, most) => {
  if (!["pps", "cps", "rps", "bps"].includes(unit)) return { divisor: 1, unit: unit === "us" ? "µs" : unit };
  const [divisor, prefix] = PREFIXES.find(([size]) => Math.abs(most) >= size) || [1, ""];
  return { divisor, unit: prefix + unit };
};

/** A number with six digits, and thousands apart. */
quiver.number = (value, digits = 6) => {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "-∞";
  if (value !== 0 && Math.abs(value) < 1e-4) return value.toExponential(digits - 1);
  const whole = value === 0 ? 1 : Math.floor(Math.log10(Math.abs(value))) + 1;
  return value.toLocaleString("en-US", { maximumFractionDigits: Math.max(0, Math.min(digits - whole, 12)) });
};

/** A value with its unit. */
quiver.amount = (value, unit) => {
  if (value === null || value === undefined) return "–";
  const scale = quiver.scaled(unit, value);
  return `${quiver.number(value / scale.divisor)} ${scale.unit}`;
};

/** A share as percents with a sign. */
quiver.percent = (share, digits = 2) => {
  if (share === null || !Number.isFinite(share)) return "–";
  const value = share * 100;
  return `${value < 0 ? "-" : "+"}${Math.abs(value).toFixed(digits)} %`;
};

/** A moment, given in microseconds since 1970, in UTC. */
quiver.date = time => new Date(time / 1000).toISOString().slice(0, 16).replace("T", " ");

/** The same with microseconds, as documents have it. */
quiver.moment = time => {
  const text = new Date(Math.floor(time / 1e6) * 1000).toISOString().slice(0, 19);
  return `${text}.${String(time % 1e6).padStart(6, "0")}Z`;
};

/** The number of things. */
quiver.count = (number, one, many) => `${quiver.number(number, 12)} ${number === 1 ? one : many || `${one}s`}`;
