/** Numbers of JSON by their digits, of any size: a double holds 17 of them. */

export const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** Whether two numbers are the same, as `1.0` and `10e-1` are. */
export function sameNumber(left: string, right: string): boolean {
  if (left === right) return true;
  if (isShort(left) && isShort(right)) return Number(left) === Number(right);
  return normal(left) === normal(right);
}

/** A double tells any two numbers of 15 digits apart. */
function isShort(text: string): boolean {
  return text.length <= 15 && !/e/i.test(text);
}

/** `-120.50e3` -> `-12050e1`: digits without zeros around them, and the exponent of the last one. */
function normal(text: string): string {
  const [, sign, whole, fraction = "", exponent = "0"] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text)!;
  const digits = (whole! + fraction).replace(/^0+/, "");
  let end = digits.length;
  while (end > 0 && digits[end - 1] === "0") end--;
  if (end === 0) return "0";
  return `${sign}${digits.slice(0, end)}e${BigInt(exponent) - BigInt(fraction.length) + BigInt(digits.length - end)}`;
}
