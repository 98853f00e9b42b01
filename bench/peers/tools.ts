import { spawnSync } from 'node:child_process'
import type { DataSet } from './data-set.ts'
import type { Peer } from './peer.ts'
import { findProgram } from './programs.ts'
import { Prometheus } from './prometheus.ts'
import { Rrdcached } from './rrdcached.ts'
import { Rrdtool } from './rrdtool.ts'
import { VictoriaMetrics } from './victoria-metrics.ts'
import { Whisper } from './whisper.ts'

/** Installed programs; missing ones are `undefined`. */
export interface Programs {
  readonly rrdtool: string | undefined
  readonly rrdcached: string | undefined
  readonly prometheus: string | undefined
  readonly promtool: string | undefined
  readonly victoriaMetrics: string | undefined
  /** Path of Debian's Python, if the module of python3-whisper is installed. */
  readonly whisper: string | undefined
  readonly haproxy: string | undefined
}

const DEBIAN_PYTHON = '/usr/bin/python3'

export function findPrograms(): Programs {
  const hasWhisper = spawnSync(DEBIAN_PYTHON, ['-c', 'import whisper'], { stdio: 'ignore' }).status === 0
  return {
    rrdtool: findProgram('rrdtool'),
    rrdcached: findProgram('rrdcached'),
    prometheus: findProgram('prometheus'),
    promtool: findProgram('promtool'),
    victoriaMetrics: findProgram('victoria-metrics'),
    whisper: hasWhisper ? DEBIAN_PYTHON : undefined,
    haproxy: findProgram('haproxy'),
  }
}

export interface Chosen {
  readonly peers: readonly Peer[]
  /** A line for each tool that is left out, with the reason. */
  readonly leftOut: readonly string[]
}

const ALWAYS_LEFT_OUT = [
  'netdata: samples of a plugin get the time of their arrival and are moved to whole seconds by interpolation; only the replication between its own instances carries times, which this benchmark does not speak',
  'carbon-cache: answers no history from its files; they are read with its own library, as "whisper (carbon)"',
]

/** Returns every installed tool. */
export function choosePeers(programs: Programs, data: DataSet): Chosen {
  const { rrdtool, rrdcached, prometheus, promtool, victoriaMetrics, whisper } = programs
  const peers: Peer[] = []
  const leftOut = [...ALWAYS_LEFT_OUT]
  const missing = (name: string, debian: string) => leftOut.push(`${name}: not installed (Debian package ${debian})`)
  if (rrdtool === undefined) missing('rrdtool, rrdcached', 'rrdtool')
  else {
    const files = new Rrdtool(rrdtool, data)
    peers.push(files)
    if (rrdcached === undefined) missing('rrdcached', 'rrdcached')
    else peers.push(new Rrdcached(rrdcached, files))
  }
  if (prometheus === undefined || promtool === undefined) missing('Prometheus', 'prometheus')
  else peers.push(new Prometheus(prometheus, promtool, data))
  if (victoriaMetrics === undefined) missing('VictoriaMetrics', 'victoria-metrics')
  else peers.push(new VictoriaMetrics(victoriaMetrics, data))
  if (whisper === undefined) missing('whisper (carbon)', 'python3-whisper')
  else peers.push(new Whisper(whisper, data))
  return { peers, leftOut }
}
