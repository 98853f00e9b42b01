import { endpoint } from '../api/endpoint.ts'

export const demo = [
  endpoint({
    name: 'demo.remove',
    method: 'DELETE',
    path: '/demo',
    effect: 'act',
    extension: true,
    refuses: ['NOT_SUPPORTED'],
    summary: 'Remove the demonstration immediately: its traffic, origins and configuration',
    message: 'Demonstration removed',
    handle: (ctx) => ctx.demo.remove(ctx.actor.email),
  }),
]
