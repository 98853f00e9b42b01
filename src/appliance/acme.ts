import { setTimeout as sleep } from 'node:timers/promises'
import { AcmeOrders } from '../acme/orders.ts'
import { DnsRecords } from '../acme/dns-records.ts'
import { whyInvisible } from '../acme/record-lookup.ts'
import { ValidationServer } from '../acme/validation-server.ts'
import { amendRecord } from '../config/amend-record.ts'
import { configView } from '../config/views.ts'
import type { AcmeActor } from '../context/acme.ts'
import type { CertificatesReader } from '../context/certificates.ts'
import { whyUnanswered } from '../drivers/haproxy/acme.ts'
import { inEtcdTurn, OF_ORDERS } from '../membership/etcd-turn.ts'
import type { JoinedCluster } from '../membership/joined-cluster.ts'
import { whyRefused } from '../rules/acme.ts'
import type { Node } from './node.ts'

interface MadeAcme {
  readonly acme: AcmeActor
  readonly orders: AcmeOrders
  /** Empty where no own HAProxy passes validations on. */
  readonly validations: readonly ValidationServer[]
}

export function createAcme(node: Node): MadeAcme {
  const { settings, store, engine, compute, clock, machine, membership } = node
  const allowsLoopback = settings.profile === 'trial'
  const amending = { store, engine, onPromoted: () => undefined }
  const read = (pem: string) =>
    compute.run('readCertificate', {
      upload: { form: 'pem', pem },
      password: '',
      force: false,
      now_ms: clock.now_ms(),
    })
  const orders = new AcmeOrders({
    ...node,
    agreed: configView(store.agreed),
    amend: (id, change) => amendRecord(amending, 'acmeOrders', id, change),
    step: (step) => machine.acme.run('acmeStep', step),
    read,
    whyUnanswered,
    records: new DnsRecords({
      ...node,
      agreed: configView(store.agreed),
      run: (script) => machine.facts.runScript(script),
    }),
    whyInvisible,
    inTurn: (work) => inTurn(membership.cluster, work),
    hasOthers: () => membership.hasOthers,
    allowsLoopback,
    wait: (ms, signal) => sleep(ms, undefined, { signal }),
  })
  const acme = {
    whyRefused: (url: string) => whyRefused(url, allowsLoopback),
    whyUnanswered,
    renew: (id: string) => orders.renew(id),
  }
  const { challengeSocket: socket } = machine
  const validations =
    socket === undefined ? [] : [new ValidationServer({ ...node, socket, agreed: configView(store.agreed) })]
  return { acme, orders, validations }
}

/** Runs work in this node's turn, which a single node always has. */
async function inTurn(cluster: JoinedCluster | undefined, work: () => Promise<void>): Promise<boolean> {
  if (cluster !== undefined) return inEtcdTurn(cluster.etcd, cluster.own.nodeId, work, OF_ORDERS)
  await work()
  return true
}

export function createCertificates({ compute, clock }: Node): CertificatesReader {
  return {
    read: (sent) => compute.run('readCertificate', { ...sent, now_ms: clock.now_ms() }),
    async placeholder(names) {
      const made = await compute.run('placeholderCertificate', { names, now_ms: clock.now_ms() })
      if ('problems' in made)
        throw new Error(`a generated certificate cannot be read: ${JSON.stringify(made.problems)}`)
      return made.certificate
    },
  }
}
