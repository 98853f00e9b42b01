/** A line that apt writes to the descriptor of APT::Status-Fd: `kind:name:percent:text`. */
export interface AptProgress {
  /** Progress from 0 to 1 over downloads and installation together. */
  readonly share: number
  readonly text: string
}

/** Downloads count as the first third. */
const DOWNLOAD_SHARE = 0.33

/** Returns undefined when the line reports no progress. */
export function aptProgress(line: string): AptProgress | undefined {
  const [, kind, percent, text] = /^(dlstatus|pmstatus):[^:]*:([\d.]+):(.*)$/.exec(line) ?? []
  const part = Number(percent) / 100
  if (kind === undefined || !(part >= 0 && part <= 1)) return undefined
  const share = kind === 'dlstatus' ? part * DOWNLOAD_SHARE : DOWNLOAD_SHARE + part * (1 - DOWNLOAD_SHARE)
  return { share, text: (text ?? '').trim() }
}
