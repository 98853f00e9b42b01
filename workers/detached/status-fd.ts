/** What apt writes to the descriptor of APT::Status-Fd: `kind:name:percent:text`. */
export interface AptProgress {
  /** 0 to 1, of downloads and installation together. */
  readonly share: number
  readonly text: string
}

/** Downloads are the first third of the way. */
const DOWNLOAD_SHARE = 0.33

/** undefined when the line tells nothing about the progress. */
export function aptProgress(line: string): AptProgress | undefined {
  const [, kind, percent, text] = /^(dlstatus|pmstatus):[^:]*:([\d.]+):(.*)$/.exec(line) ?? []
  const part = Number(percent) / 100
  if (kind === undefined || !(part >= 0 && part <= 1)) return undefined
  const share = kind === 'dlstatus' ? part * DOWNLOAD_SHARE : DOWNLOAD_SHARE + part * (1 - DOWNLOAD_SHARE)
  return { share, text: (text ?? '').trim() }
}
