#!/usr/bin/env python3
"""Receives the deliveries of a webhook: HOLDFAST_SECRET=whsec_.. ./receiver.py [PORT]. Several secrets: with commas."""
import http.server
import os
import sqlite3
import sys

from holdfast import HoldfastError, Receiver

BODY_MAX = 1 << 16
receiver = Receiver(os.environ['HOLDFAST_SECRET'].split(','))
inbox = sqlite3.connect('inbox.db')
inbox.execute('CREATE TABLE IF NOT EXISTS seen (id TEXT PRIMARY KEY, type TEXT)')


class Handler(http.server.BaseHTTPRequestHandler):
    timeout = 15

    def do_POST(self) -> None:
        size = int(self.headers.get('Content-Length', '-1'))
        if not 0 <= size <= BODY_MAX:
            return self.answer(413)
        try:
            event = receiver.verify(self.headers, self.rfile.read(size))
        except HoldfastError:
            return self.answer(401)
        with inbox:                 # one transaction for the id and what the event told; an id that is there is not new
            new = inbox.execute('INSERT OR IGNORE INTO seen VALUES (?, ?)', (event['id'], event['type'])).rowcount
        print(event['type'] if new else 'again', flush=True)
        return self.answer(204)

    def answer(self, status: int) -> None:
        self.send_response(status)
        self.end_headers()


if __name__ == '__main__':
    server = http.server.HTTPServer(('127.0.0.1', int((sys.argv + ['8081'])[1])), Handler)
    print('ready', flush=True)
    server.serve_forever()
