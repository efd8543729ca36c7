// Marks of a chart: each series has a color, a shape and a dash of its own, so that it is told without color.

const TAU = 2 * Math.PI;

const polygon = (path, x, y, size, corners, turn) => {
  for (let corner = 0; corner < corners; corner++) {
    const angle = turn + (TAU * corner) / corners;
    const [left, top] = [x + size * Math.cos(angle), y + size * Math.sin(angle)];
    if (corner === 0) path.moveTo(left, top); else path.lineTo(left, top);
  }
  path.closePath();
};

const SHAPES = [
  (path, x, y, size) => { path.moveTo(x + size, y); path.arc(x, y, size, 0, TAU); },
  (path, x, y, size) => path.rect(x - size * 0.85, y - size * 0.85, size * 1.7, size * 1.7),
  (path, x, y, size) => polygon(path, x, y, size * 1.25, 3, -TAU / 4),
  (path, x, y, size) => polygon(path, x, y, size * 1.25, 4, 0),
  (path, x, y, size) => polygon(path, x, y, size * 1.25, 3, TAU / 4),
  (path, x, y, size) => polygon(path, x, y, size * 1.15, 5, -TAU / 4),
  (path, x, y, size) => polygon(path, x, y, size * 1.15, 6, 0),
  (path, x, y, size) => {
    path.moveTo(x - size, y - size); path.lineTo(x + size, y + size); path.moveTo(x + size, y - size); path.lineTo(x - size, y + size);
  },
];
const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3], [14, 5], [5, 2], [2, 6], [10, 3, 2, 3, 2, 3]];

/** Color (a custom property of the style), shape and dash of the series with this number. */
quiver.mark = number => ({
  color: `--series-${number % 8}`,
  shape: SHAPES[number % SHAPES.length],
  dash: DASHES[number % DASHES.length],
  isOpen: number % SHAPES.length === 7,
});

/** The value of a custom property of the style. */
quiver.color = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** A small picture of a mark, for legends. */
quiver.legendMark = number => {
  const [canvas, mark, ratio] = [quiver.element("canvas", { class: "mark", "aria-hidden": "true" }), quiver.mark(number), 2];
  [canvas.width, canvas.height] = [36 * ratio, 14 * ratio];
  const draw = () => {
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, 36, 14);
    context.strokeStyle = context.fillStyle = quiver.color(mark.color);
    context.lineWidth = 2;
    context.setLineDash(mark.dash);
    context.beginPath(); context.moveTo(0, 7); context.lineTo(36, 7); context.stroke();
    context.setLineDash([]);
    const path = new Path2D();
    mark.shape(path, 18, 7, 4);
    if (mark.isOpen) context.stroke(path); else context.fill(path);
  };
  requestAnimationFrame(draw);
  addEventListener("quiver-theme", draw);
  return canvas;
};
