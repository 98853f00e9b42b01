import { isDeepStrictEqual } from 'node:util'
import type { UserInterface } from '../../model/node.ts'
import type { ConfigView, RecordChange } from '../../model/sections.ts'
import type { Driver } from '../driver.ts'
import { nodeIn } from '../this-node.ts'

/**
 * The effects of changes to the daemon's own front. There are no steps: the daemon itself moves its listeners, in the
 * same apply. `givenPort` is that of the command line, which applies without a record.
 */
export function webuiDriver(nodeId: string, givenPort?: number): Driver {
  const frontOf = (record: UserInterface | undefined) => {
    const { apiPort = givenPort, ipId = '', SSLCertificate = '' } = record ?? {}
    return [apiPort, ipId, SSLCertificate]
  }
  const changes = ({ section, id, before, after }: RecordChange, desired: ConfigView) => {
    const own = nodeIn(desired, nodeId)
    if (section === 'certificates') return desired.get('userInterfaces', own)?.SSLCertificate === id
    return section === 'userInterfaces' && id === own && !isDeepStrictEqual(frontOf(before), frontOf(after))
  }
  return {
    name: 'webui',
    sections: [],
    prepare: () => [],
    verify: () => [],
    plan: () => [],
    effectOf: (change, _, desired) => (changes(change, desired) ? 'reload' : undefined),
    render: () => [],
    diagnose: () => [],
  }
}
