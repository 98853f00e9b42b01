/** Texts about clusters. */
export const germanOfClusters: Readonly<Record<string, string>> = {
  'this node': 'dieser Knoten',
  'link down': 'nicht verbunden',
  'link up': 'verbunden',
  'This node no longer follows the cluster.': 'Dieser Knoten folgt dem Cluster nicht mehr.',
  'This node was removed from the cluster, {when}.': 'Dieser Knoten wurde aus dem Cluster entfernt, {when}.',
  'Its HAProxy keeps serving the last configuration. Changes made on other nodes do not arrive here.':
    'Sein HAProxy arbeitet mit der letzten Konfiguration weiter. Änderungen auf anderen Knoten kommen hier nicht an.',
  'Make it a single node; it can then join again with a new token.':
    'Machen Sie ihn zum Einzelknoten; dann kann er mit einem neuen Token wieder beitreten.',
  'Make it a single node': 'Zum Einzelknoten machen',
  'No quorum: too few votes answer.': 'Kein Quorum: Zu wenige Stimmen antworten.',
  'Not answering: {names}': 'Antwortet nicht: {names}',
  'Traffic and changes continue because enough nodes answer. A node that is away catches up when it is back.':
    'Verkehr und Änderungen gehen weiter, denn genug Knoten antworten. Wer fehlt, holt auf, sobald er zurück ist.',
  'Traffic continues, and users can log in. Nothing can be changed until enough nodes answer.':
    'Der Verkehr läuft weiter, und Benutzer können sich anmelden. Ändern lässt sich nichts, bis genug Knoten antworten.',
  'Check the machine, its daemon and the firewalls. Remove it only if it will not come back.':
    'Prüfen Sie die Maschine, ihren Daemon und die Firewalls. Entfernen Sie den Knoten nur, wenn er nicht wiederkommt.',
  'Bring it back. If it is certainly off, this node can go on alone.':
    'Bringen Sie ihn zurück. Ist er sicher aus, kann dieser Knoten allein weitermachen.',
  'Bring it back. If it is certainly off, an administrator can let this node go on alone.':
    'Bringen Sie ihn zurück. Ist er sicher aus, kann ein Administrator diesen Knoten allein weitermachen lassen.',
  'Bring one of them back. If none is left, this node can become a single node.':
    'Bringen Sie einen davon zurück. Gibt es keinen mehr, kann dieser Knoten ein Einzelknoten werden.',
  'Go on alone': 'Allein weitermachen',
  'Both nodes went on alone, and the configuration was changed on both.':
    'Beide Knoten haben allein weitergemacht, und auf beiden wurde die Konfiguration geändert.',
  'Traffic continues on both nodes. Neither accepts changes until one configuration is chosen.':
    'Der Verkehr läuft auf beiden Knoten weiter. Keiner nimmt Änderungen an, bis eine Konfiguration gewählt ist.',
  'Choose the configuration to keep. The other one is saved to a file on its node.':
    'Wählen Sie die Konfiguration, die bleibt. Die andere wird auf ihrem Knoten als Datei gespeichert.',
  'Keep the one of {name} ({count:change|changes})': 'Die von {name} behalten ({count:Änderung|Änderungen})',
  'What still works': 'Was noch geht',
  'What to do': 'Was zu tun ist',
  Cluster: 'Cluster',
  'Up to five nodes share one configuration, users and sessions.':
    'Bis zu fünf Knoten teilen sich Konfiguration, Benutzer und Sitzungen.',
  'This node is not in a cluster.': 'Dieser Knoten ist in keinem Cluster.',
  'Traffic does not depend on the cluster. In a cluster, another node takes over when this one fails.':
    'Der Verkehr hängt nicht vom Cluster ab. In einem Cluster übernimmt ein anderer Knoten, wenn dieser ausfällt.',
  'You do not have permission to create or join a cluster.':
    'Sie haben nicht das Recht, einen Cluster anzulegen oder einem beizutreten.',
  'This node becomes its first member; others join with a token. Traffic is not affected.':
    'Dieser Knoten wird sein erstes Mitglied; andere treten mit einem Token bei. Der Verkehr ist nicht betroffen.',
  'This node has joined {name}. Log in with a user of the cluster.':
    'Dieser Knoten ist {name} beigetreten. Melden Sie sich mit einem Benutzer des Clusters an.',
  'Join a cluster': 'Einem Cluster beitreten',
  'With a token from a node of the cluster: Cluster, “Add a node”.':
    'Mit einem Token von einem Knoten des Clusters: Cluster, „Knoten aufnehmen“.',
  'Join {name}': '{name} beitreten',
  'can reach this node': 'erreicht diesen Knoten',
  'cannot reach this node': 'erreicht diesen Knoten nicht',
  'The configuration and users of the cluster replace those of this node. Make a backup first.':
    'Konfiguration und Benutzer des Clusters ersetzen die dieses Knotens. Legen Sie vorher eine Sicherung an.',
  'Nothing of this node is kept.': 'Von diesem Knoten bleibt nichts erhalten.',
  'Records of this node alone are kept: {names}': 'Einträge nur dieses Knotens bleiben erhalten: {names}',
  'You will have to log in again, with a user of the cluster.':
    'Sie müssen sich neu anmelden, mit einem Benutzer des Clusters.',
  'Name of the cluster': 'Name des Clusters',
  Token: 'Token',
  'Address for other nodes': 'Adresse für andere Knoten',
  'Name of this node': 'Name dieses Knotens',
  Done: 'Fertig',
  'Create a token here': 'Hier ein Token erstellen',
  'Kind of member': 'Art des Mitglieds',
  'A node': 'Ein Knoten',
  'A witness': 'Ein Zeuge',
  'It takes over the configuration and users of this cluster, and serves the same services.':
    'Er übernimmt Konfiguration und Benutzer dieses Clusters und bedient dieselben Dienste.',
  'A third vote at another site, without configuration or traffic. Recommended for two nodes.':
    'Eine dritte Stimme an einem anderen Ort, ohne Konfiguration und Verkehr. Empfohlen bei zwei Knoten.',
  'Valid for': 'Gültig für',
  '1 hour': '1 Stunde',
  '1 day': '1 Tag',
  'Create the token': 'Token erstellen',
  'Valid for one node, until {time}.': 'Gültig für einen Knoten, bis {time}.',
  'Paste it on the other machine': 'Auf der anderen Maschine einfügen',
  'The node joins': 'Der Knoten tritt bei',
  '{name} has joined': '{name} ist beigetreten',
  'Waiting for the node. You can close this dialog.':
    'Es wird auf den Knoten gewartet. Sie können diesen Dialog schließen.',
  'The node is up to date and votes': 'Der Knoten ist auf dem Stand und stimmt ab',
  'The node gets its vote as soon as it is up to date.':
    'Der Knoten bekommt seine Stimme, sobald er auf dem Stand ist.',
  'Token, shown only once': 'Token, wird nur einmal gezeigt',
  Copied: 'Kopiert',
  Copy: 'Kopieren',
  'Open the page of the other machine, go to Cluster, and paste the token under “Join a cluster”.':
    'Öffnen Sie die Seite der anderen Maschine, gehen Sie zu „Cluster“ und fügen Sie das Token unter „Einem Cluster beitreten“ ein.',
  'Or use its command line, which reads the token from standard input:':
    'Oder auf deren Befehlszeile, die das Token von ihrer Eingabe liest:',
  'On the machine of the witness, as root; the daemon there waits for the file:':
    'Auf der Maschine des Zeugen, als root; der Daemon dort wartet auf die Datei:',
  'You do not have permission to do this, or no longer have it.': 'Sie haben das Recht dazu nicht oder nicht mehr.',
  'The daemon does not answer; the other nodes are carrying on. Check again in a moment.':
    'Der Daemon antwortet nicht; die anderen Knoten arbeiten weiter. Sehen Sie gleich noch einmal nach.',
  'Leave the cluster': 'Cluster verlassen',
  'Try again': 'Noch einmal versuchen',
  'Even if the other nodes cannot be notified': 'Auch wenn die anderen nichts davon erfahren können',
  'Type {name} to confirm': 'Zur Bestätigung {name} eingeben',
  'In a cluster of two nodes, the one that stays must first be able to go on alone.':
    'In einem Cluster aus zwei Knoten muss der bleibende zuerst allein weitermachen können.',
  'It no longer votes, forgets the cluster, and waits for a new token.':
    'Er stimmt nicht mehr ab, vergisst den Cluster und wartet auf ein neues Token.',
  'Nodes and traffic are not affected.': 'Knoten und Verkehr sind nicht betroffen.',
  'It becomes a single node with its current configuration and users; its traffic continues.':
    'Er wird ein Einzelknoten mit seiner jetzigen Konfiguration und seinen Benutzern; sein Verkehr läuft weiter.',
  'Later changes on either side stay on that side.':
    'Spätere Änderungen bleiben auf der Seite, auf der sie gemacht werden.',
  'Its floating IPs move to a remaining node.': 'Seine Floating-IPs gehen an einen verbleibenden Knoten.',
  'It is locked out: its certificates are revoked, and no node answers it any longer.':
    'Er wird ausgesperrt: Seine Zertifikate werden widerrufen, und kein Knoten antwortet ihm mehr.',
  'Everything written from now on is sealed with a key that it has never had.':
    'Alles, was von jetzt an geschrieben wird, ist mit einem Schlüssel versiegelt, den er nie hatte.',
  'If it comes back, it has to become a single node before it can join again with a new token.':
    'Kommt er wieder, muss er erst ein Einzelknoten werden und kann dann mit einem neuen Token wieder beitreten.',
  'The cluster as {name} sees it.': 'Der Cluster, wie {name} ihn sieht.',
  'Nodes answering': 'Knoten, die antworten',
  'with the witness': 'mit dem Zeugen',
  Votes: 'Stimmen',
  'Spare votes': 'Entbehrliche Stimmen',
  'If one more vote fails, nothing can be changed; traffic continues.':
    'Fällt noch eine Stimme aus, lässt sich nichts ändern; der Verkehr läuft weiter.',
  'Nothing can be changed at the moment; traffic continues.':
    'Zurzeit lässt sich nichts ändern; der Verkehr läuft weiter.',
  'Number of votes that may fail while changes remain possible.':
    'So viele Stimmen dürfen ausfallen, ohne dass Änderungen unmöglich werden.',
  Version: 'Version',
  '{count} different': '{count} verschiedene',
  'the same everywhere': 'überall dieselbe',
  'no vote at the moment': 'jetzt ohne Stimme',
  'In maintenance since {since}, by {by}.': 'In Wartung seit {since}, durch {by}.',
  'Floating IPs': 'Floating-IPs',
  none: 'keine',
  'takes none at the moment': 'nimmt jetzt keine',
  'Applied only here': 'Nur hier angewendet',
  '{count:record|records}, until the next apply on all nodes':
    '{count:Eintrag|Einträge}, bis zum nächsten Anwenden auf allen Knoten',
  'Start maintenance': 'Wartung beginnen',
  'End maintenance': 'Wartung beenden',
  'Name and address': 'Name und Adresse',
  'A witness votes, and has no configuration and no traffic.':
    'Ein Zeuge stimmt ab und hat weder Konfiguration noch Verkehr.',
  Joined: 'Beigetreten',
  'Certificates until': 'Zertifikate bis',
  unreachable: 'nicht erreichbar',
  'Leader: {name}': 'Leader: {name}',
}
