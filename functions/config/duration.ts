const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Beyond that a sum of times is no date any more. */
const MOST = 3650 * 86_400_000

/** `90s`, `10m`, `1h30m`, `30d` in milliseconds; at most ten years. */
export const parseDuration = (text: string): number | undefined => {
  if (!/^(\d+(\.\d+)?(ms|s|m|h|d))+$/.test(text)) return undefined
  const sum = [...text.matchAll(/([\d.]+)(ms|[smhd])/g)].reduce(
    (sum, [, count, unit]) => sum + Number(count) * (UNITS[unit ?? ''] ?? 0),
    0,
  )
  return sum <= MOST ? sum : undefined
}
