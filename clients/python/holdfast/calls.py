"""The calls of the contract, as methods.

Made by generate.py from api/openapi.yaml: change that, and run it again."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Optional, TypeVar

from .models import (
    Activity, ActivityQuery, Attempts, Availability, AvailabilityRequest, BatchAnswer, BatchRequest, BuriedPage,
    BuriedPageItem, BuriedQuery, ChangeRequest, ChangesAnswer, Claim, ClaimRequest, CompleteAnswer, CompleteRequest,
    ConfirmRequest, ConfirmationsRequest, CustomerAnswer, DeleteThresholdQuery, EnableRequest, Events, EventsQuery,
    ExtendRequest, FailAnswer, FailRequest, FindAnswer, FindRequest, HeartbeatRequest, HistoryPage, HistoryQuery,
    HoldRequest, HoldsPage, HoldsQuery, Id, Job, JobList, KeyAnswer, Kicked, KicksRequest, ListedSku, Location,
    LocationAnswer, LocationQuery, LocationsPage, LocationsQuery, MakeWebhookAnswer, Movement, MovementMade,
    MovementRequest, MovementsPage, MovementsQuery, Ping, Place, PlaceRequest, ReleaseRequest, ReleasesRequest,
    Reservation, ReservationAnswer, ReservationEvent, ReservationRequest, ReservationWithKin, ReservationsPage,
    ReservationsQuery, SetJobRequest, SettleRequest, SettlementsRequest, Sku, SkuQuery, SkuRequest, SkuSettings,
    SkusForSale, SkusForSaleRequest, SkusPage, SkusQuery, SplitRequest, Stats, Stock, StockAnswer, StockRequest, Task,
    TaskId, TasksPage, TasksQuery, Threshold, ThresholdRequest, ThresholdThere, ThresholdsPage, ThresholdsQuery,
    WaitingPage, WaitingPageItem, WaitingQuery, Webhook, WebhookRequest, WebhookWithSecret, WebhooksPage,
    WebhooksQuery,
)
from .rules import Call, path

if TYPE_CHECKING:
    from .aio import AsyncListing
    from .client import Listing

T = TypeVar('T')


class Calls:
    """The calls for threads. `deadline_s` is for one call; the client has one for all."""

    def _call(self, call: Call[T], deadline_s: Optional[float] = None) -> T:
        raise NotImplementedError

    def _list(self, call: Callable[[Any], Call[Any]], query: Any, deadline_s: Optional[float]) -> Listing[Any, Any]:
        raise NotImplementedError

    def move(self, body: MovementRequest, *, deadline_s: Optional[float] = None) -> MovementMade:
        """Change the units in stock. POST /v1/movements"""
        return self._call(Call('POST', '/v1/movements', None, body), deadline_s)

    def movement(self, movement_id: Id, *, deadline_s: Optional[float] = None) -> Movement:
        """Read one movement. GET /v1/movements/{movement_id}"""
        return self._call(Call('GET', path('/v1/movements/{}', movement_id)), deadline_s)

    def skus(self, query: Optional[SkusQuery] = None, *, deadline_s: Optional[float] = None
             ) -> Listing[SkusPage, ListedSku]:
        """List the stock, by sku. GET /v1/skus"""
        return self._list(lambda query: Call('GET', '/v1/skus', query), query, deadline_s)

    def sku(self, sku: Sku, query: Optional[SkuQuery] = None, *, deadline_s: Optional[float] = None) -> Stock:
        """Read the stock of one sku. GET /v1/skus/{sku}"""
        return self._call(Call('GET', path('/v1/skus/{}', sku), query), deadline_s)

    def set_sku(self, sku: Sku, body: Optional[SkuRequest] = None, *, deadline_s: Optional[float] = None
                ) -> SkuSettings:
        """Make a sku, or say more of it. PUT /v1/skus/{sku}"""
        return self._call(Call('PUT', path('/v1/skus/{}', sku), None, body), deadline_s)

    def set_for_sale(self, body: SkusForSaleRequest, *, deadline_s: Optional[float] = None) -> SkusForSale:
        """Stop the sale of many skus at once, or let it go on. POST /v1/skus/for_sale"""
        return self._call(Call('POST', '/v1/skus/for_sale', None, body), deadline_s)

    def customer(self, sku: Sku, customer: Id, *, deadline_s: Optional[float] = None) -> CustomerAnswer:
        """Read how many units of a sku one customer has. GET /v1/skus/{sku}/customers/{customer}"""
        return self._call(Call('GET', path('/v1/skus/{}/customers/{}', sku, customer)), deadline_s)

    def waiting(self, sku: Sku, query: Optional[WaitingQuery] = None, *, deadline_s: Optional[float] = None
                ) -> Listing[WaitingPage, WaitingPageItem]:
        """Read the queue for a sku. GET /v1/skus/{sku}/waiting"""
        return self._list(lambda query: Call('GET', path('/v1/skus/{}/waiting', sku), query), query, deadline_s)

    def set_threshold(self, sku: Sku, body: ThresholdRequest, *, deadline_s: Optional[float] = None) -> Threshold:
        """Set the number of units at which a sku is low. PUT /v1/skus/{sku}/threshold"""
        return self._call(Call('PUT', path('/v1/skus/{}/threshold', sku), None, body), deadline_s)

    def delete_threshold(self, sku: Sku, query: Optional[DeleteThresholdQuery] = None, *, deadline_s: Optional[float]
                         = None
                         ) -> None:
        """Remove a threshold. DELETE /v1/skus/{sku}/threshold"""
        self._call(Call('DELETE', path('/v1/skus/{}/threshold', sku), query), deadline_s)

    def thresholds(self, sku: Sku, query: Optional[ThresholdsQuery] = None, *, deadline_s: Optional[float] = None
                   ) -> Listing[ThresholdsPage, ThresholdThere]:
        """Read the thresholds of a sku. GET /v1/skus/{sku}/thresholds"""
        return self._list(lambda query: Call('GET', path('/v1/skus/{}/thresholds', sku), query), query, deadline_s)

    def holds(self, sku: Sku, query: Optional[HoldsQuery] = None, *, deadline_s: Optional[float] = None
              ) -> Listing[HoldsPage, Reservation]:
        """List the reservations that hold a sku. GET /v1/skus/{sku}/holds"""
        return self._list(lambda query: Call('GET', path('/v1/skus/{}/holds', sku), query), query, deadline_s)

    def movements(self, sku: Sku, query: Optional[MovementsQuery] = None, *, deadline_s: Optional[float] = None
                  ) -> Listing[MovementsPage, Movement]:
        """List what moved one sku, newest first. GET /v1/skus/{sku}/movements"""
        return self._list(lambda query: Call('GET', path('/v1/skus/{}/movements', sku), query), query, deadline_s)

    def locations(self, query: Optional[LocationsQuery] = None, *, deadline_s: Optional[float] = None
                  ) -> Listing[LocationsPage, Place]:
        """List locations, by code. GET /v1/locations"""
        return self._list(lambda query: Call('GET', '/v1/locations', query), query, deadline_s)

    def location(self, location: Location, query: Optional[LocationQuery] = None, *, deadline_s: Optional[float] =
                 None
                 ) -> LocationAnswer:
        """Read what kind of place a location is. GET /v1/locations/{location}"""
        return self._call(Call('GET', path('/v1/locations/{}', location), query), deadline_s)

    def set_location(self, location: Location, body: Optional[PlaceRequest] = None, *, deadline_s: Optional[float] =
                     None
                     ) -> Place:
        """Make a location, or change its kind. PUT /v1/locations/{location}"""
        return self._call(Call('PUT', path('/v1/locations/{}', location), None, body), deadline_s)

    def availability(self, body: AvailabilityRequest, *, deadline_s: Optional[float] = None) -> Availability:
        """Read the stock of many skus at once, or how often baskets can be had. POST /v1/availability"""
        return self._call(Call('POST', '/v1/availability', None, body), deadline_s)

    def stock(self, body: StockRequest, *, deadline_s: Optional[float] = None) -> StockAnswer:
        """Read all figures of many skus, by location. POST /v1/stock"""
        return self._call(Call('POST', '/v1/stock', None, body), deadline_s)

    def reserve(self, body: ReservationRequest, *, deadline_s: Optional[float] = None) -> ReservationAnswer:
        """Promise units to an order. POST /v1/reservations"""
        return self._call(Call('POST', '/v1/reservations', None, body), deadline_s)

    def reservations(self, query: Optional[ReservationsQuery] = None, *, deadline_s: Optional[float] = None
                     ) -> Listing[ReservationsPage, Reservation]:
        """List reservations. GET /v1/reservations"""
        return self._list(lambda query: Call('GET', '/v1/reservations', query), query, deadline_s)

    def find(self, body: FindRequest, *, deadline_s: Optional[float] = None) -> FindAnswer:
        """Read many reservations by their ids. POST /v1/reservations/find"""
        return self._call(Call('POST', '/v1/reservations/find', None, body), deadline_s)

    def reserve_many(self, body: BatchRequest, *, deadline_s: Optional[float] = None) -> BatchAnswer:
        """Promise units to many orders. POST /v1/reservations/batch"""
        return self._call(Call('POST', '/v1/reservations/batch', None, body), deadline_s)

    def reservation(self, order_id: Id, *, deadline_s: Optional[float] = None) -> ReservationWithKin:
        """Read one reservation. GET /v1/reservations/{order_id}"""
        return self._call(Call('GET', path('/v1/reservations/{}', order_id)), deadline_s)

    def change(self, order_id: Id, body: ChangeRequest, *, deadline_s: Optional[float] = None) -> ReservationAnswer:
        """Give an order other lines. PUT /v1/reservations/{order_id}"""
        return self._call(Call('PUT', path('/v1/reservations/{}', order_id), None, body), deadline_s)

    def history(self, order_id: Id, query: Optional[HistoryQuery] = None, *, deadline_s: Optional[float] = None
                ) -> Listing[HistoryPage, ReservationEvent]:
        """Read what has happened to one order. GET /v1/reservations/{order_id}/events"""
        return self._list(
            lambda query: Call('GET', path('/v1/reservations/{}/events', order_id), query), query, deadline_s)

    def confirm(self, order_id: Id, body: Optional[ConfirmRequest] = None, *, deadline_s: Optional[float] = None
                ) -> ReservationAnswer:
        """The order is sure; keep the units for it. POST /v1/reservations/{order_id}/confirm"""
        return self._call(Call('POST', path('/v1/reservations/{}/confirm', order_id), None, body), deadline_s)

    def release(self, order_id: Id, body: Optional[ReleaseRequest] = None, *, deadline_s: Optional[float] = None
                ) -> ReservationAnswer:
        """Give the units back. POST /v1/reservations/{order_id}/release"""
        return self._call(Call('POST', path('/v1/reservations/{}/release', order_id), None, body), deadline_s)

    def settle(self, order_id: Id, body: Optional[SettleRequest] = None, *, deadline_s: Optional[float] = None
               ) -> ReservationAnswer:
        """This order has left the house. POST /v1/reservations/{order_id}/settle"""
        return self._call(Call('POST', path('/v1/reservations/{}/settle', order_id), None, body), deadline_s)

    def hold_back(self, order_id: Id, body: HoldRequest, *, deadline_s: Optional[float] = None) -> ReservationAnswer:
        """Hold the order back from shipping. PUT /v1/reservations/{order_id}/hold"""
        return self._call(Call('PUT', path('/v1/reservations/{}/hold', order_id), None, body), deadline_s)

    def let_go(self, order_id: Id, *, deadline_s: Optional[float] = None) -> ReservationAnswer:
        """Let the order go on. DELETE /v1/reservations/{order_id}/hold"""
        return self._call(Call('DELETE', path('/v1/reservations/{}/hold', order_id)), deadline_s)

    def confirm_many(self, body: ConfirmationsRequest, *, deadline_s: Optional[float] = None) -> ChangesAnswer:
        """Many orders are sure. POST /v1/confirmations"""
        return self._call(Call('POST', '/v1/confirmations', None, body), deadline_s)

    def release_many(self, body: ReleasesRequest, *, deadline_s: Optional[float] = None) -> ChangesAnswer:
        """Give the units of many orders back. POST /v1/releases"""
        return self._call(Call('POST', '/v1/releases', None, body), deadline_s)

    def settle_many(self, body: SettlementsRequest, *, deadline_s: Optional[float] = None) -> ChangesAnswer:
        """Many orders have left the house. POST /v1/settlements"""
        return self._call(Call('POST', '/v1/settlements', None, body), deadline_s)

    def extend(self, order_id: Id, body: ExtendRequest, *, deadline_s: Optional[float] = None) -> ReservationAnswer:
        """Hold for longer, or shorter. POST /v1/reservations/{order_id}/extend"""
        return self._call(Call('POST', path('/v1/reservations/{}/extend', order_id), None, body), deadline_s)

    def split(self, order_id: Id, body: SplitRequest, *, deadline_s: Optional[float] = None) -> Reservation:
        """Give a part of the order an id of its own. POST /v1/reservations/{order_id}/split"""
        return self._call(Call('POST', path('/v1/reservations/{}/split', order_id), None, body), deadline_s)

    def kick(self, order_id: Id, *, deadline_s: Optional[float] = None) -> ReservationAnswer:
        """Try a buried one again. POST /v1/reservations/{order_id}/kick"""
        return self._call(Call('POST', path('/v1/reservations/{}/kick', order_id)), deadline_s)

    def events(self, query: Optional[EventsQuery] = None, *, deadline_s: Optional[float] = None) -> Events:
        """Read what has happened, and wait for more. GET /v1/events"""
        return self._call(Call('GET', '/v1/events', query), deadline_s)

    def claim(self, body: ClaimRequest, *, deadline_s: Optional[float] = None) -> Optional[Claim]:
        """Claim a batch of orders. Not sent again after a lost answer. POST /v1/tasks"""
        return self._call(Call('POST', '/v1/tasks', None, body, once=True), deadline_s)

    def tasks(self, query: Optional[TasksQuery] = None, *, deadline_s: Optional[float] = None
              ) -> Listing[TasksPage, Task]:
        """List tasks, newest first. GET /v1/tasks"""
        return self._list(lambda query: Call('GET', '/v1/tasks', query), query, deadline_s)

    def task(self, task_id: TaskId, *, deadline_s: Optional[float] = None) -> Task:
        """Read one task. GET /v1/tasks/{task_id}"""
        return self._call(Call('GET', path('/v1/tasks/{}', task_id)), deadline_s)

    def heartbeat(self, task_id: TaskId, body: Optional[HeartbeatRequest] = None, *, deadline_s: Optional[float] =
                  None
                  ) -> Task:
        """Renew the lease. POST /v1/tasks/{task_id}/heartbeat"""
        return self._call(Call('POST', path('/v1/tasks/{}/heartbeat', task_id), None, body), deadline_s)

    def complete(self, task_id: TaskId, body: Optional[CompleteRequest] = None, *, deadline_s: Optional[float] = None
                 ) -> CompleteAnswer:
        """The work on these orders is done. POST /v1/tasks/{task_id}/complete"""
        return self._call(Call('POST', path('/v1/tasks/{}/complete', task_id), None, body), deadline_s)

    def fail(self, task_id: TaskId, body: FailRequest, *, deadline_s: Optional[float] = None) -> FailAnswer:
        """The work on these orders failed. POST /v1/tasks/{task_id}/fail"""
        return self._call(Call('POST', path('/v1/tasks/{}/fail', task_id), None, body), deadline_s)

    def give_back(self, task_id: TaskId, *, deadline_s: Optional[float] = None) -> Task:
        """Give back what was not begun. POST /v1/tasks/{task_id}/return"""
        return self._call(Call('POST', path('/v1/tasks/{}/return', task_id)), deadline_s)

    def make_webhook(self, body: WebhookRequest, *, deadline_s: Optional[float] = None) -> MakeWebhookAnswer:
        """Have events delivered to an address. POST /v1/webhooks"""
        return self._call(Call('POST', '/v1/webhooks', None, body), deadline_s)

    def webhooks(self, query: Optional[WebhooksQuery] = None, *, deadline_s: Optional[float] = None
                 ) -> Listing[WebhooksPage, Webhook]:
        """List webhooks, by id. GET /v1/webhooks"""
        return self._list(lambda query: Call('GET', '/v1/webhooks', query), query, deadline_s)

    def webhook(self, webhook_id: Id, *, deadline_s: Optional[float] = None) -> Webhook:
        """Read one webhook. GET /v1/webhooks/{webhook_id}"""
        return self._call(Call('GET', path('/v1/webhooks/{}', webhook_id)), deadline_s)

    def delete_webhook(self, webhook_id: Id, *, deadline_s: Optional[float] = None) -> None:
        """Remove a webhook. DELETE /v1/webhooks/{webhook_id}"""
        self._call(Call('DELETE', path('/v1/webhooks/{}', webhook_id)), deadline_s)

    def enable_webhook(self, webhook_id: Id, body: Optional[EnableRequest] = None, *, deadline_s: Optional[float] =
                       None
                       ) -> Webhook:
        """Go on with a webhook. Not sent again after a lost answer. POST /v1/webhooks/{webhook_id}/enable"""
        return self._call(Call('POST', path('/v1/webhooks/{}/enable', webhook_id), None, body, once=True), deadline_s)

    def rotate_webhook(self, webhook_id: Id, *, deadline_s: Optional[float] = None) -> WebhookWithSecret:
        """Give a webhook a new secret. Not sent again after a lost answer. POST /v1/webhooks/{webhook_id}/rotate"""
        return self._call(Call('POST', path('/v1/webhooks/{}/rotate', webhook_id), once=True), deadline_s)

    def ping_webhook(self, webhook_id: Id, *, deadline_s: Optional[float] = None) -> Ping:
        """Send a webhook something to receive. Not sent again after a lost answer. POST
        /v1/webhooks/{webhook_id}/ping"""
        return self._call(Call('POST', path('/v1/webhooks/{}/ping', webhook_id), once=True), deadline_s)

    def attempts(self, webhook_id: Id, *, deadline_s: Optional[float] = None) -> Attempts:
        """The last attempts of a webhook. GET /v1/webhooks/{webhook_id}/attempts"""
        return self._call(Call('GET', path('/v1/webhooks/{}/attempts', webhook_id)), deadline_s)

    def jobs(self, *, deadline_s: Optional[float] = None) -> JobList:
        """The jobs, and what they have to do. GET /v1/jobs"""
        return self._call(Call('GET', '/v1/jobs'), deadline_s)

    def set_job(self, job: Id, body: SetJobRequest, *, deadline_s: Optional[float] = None) -> Job:
        """Pause a job, or resume it. PUT /v1/jobs/{job}"""
        return self._call(Call('PUT', path('/v1/jobs/{}', job), None, body), deadline_s)

    def buried(self, query: Optional[BuriedQuery] = None, *, deadline_s: Optional[float] = None
               ) -> Listing[BuriedPage, BuriedPageItem]:
        """Why orders are buried. GET /v1/buried"""
        return self._list(lambda query: Call('GET', '/v1/buried', query), query, deadline_s)

    def kick_many(self, body: Optional[KicksRequest] = None, *, deadline_s: Optional[float] = None) -> Kicked:
        """Give many buried orders to workers again. Not sent again after a lost answer. POST /v1/kicks"""
        return self._call(Call('POST', '/v1/kicks', None, body, once=True), deadline_s)

    def key(self, *, deadline_s: Optional[float] = None) -> KeyAnswer:
        """The name and the roles of this key. GET /v1/key"""
        return self._call(Call('GET', '/v1/key'), deadline_s)

    def stats(self, *, deadline_s: Optional[float] = None) -> Stats:
        """How much there is. GET /v1/stats"""
        return self._call(Call('GET', '/v1/stats'), deadline_s)

    def activity(self, query: Optional[ActivityQuery] = None, *, deadline_s: Optional[float] = None) -> Activity:
        """What has gone on, second by second. GET /v1/activity"""
        return self._call(Call('GET', '/v1/activity', query), deadline_s)


class AsyncCalls:
    """The calls for asyncio. `deadline_s` is for one call; the client has one for all."""

    async def _call(self, call: Call[T], deadline_s: Optional[float] = None) -> T:
        raise NotImplementedError

    def _list(self, call: Callable[[Any], Call[Any]], query: Any, deadline_s: Optional[float]
              ) -> AsyncListing[Any, Any]:
        raise NotImplementedError

    async def move(self, body: MovementRequest, *, deadline_s: Optional[float] = None) -> MovementMade:
        """Change the units in stock. POST /v1/movements"""
        return await self._call(Call('POST', '/v1/movements', None, body), deadline_s)

    async def movement(self, movement_id: Id, *, deadline_s: Optional[float] = None) -> Movement:
        """Read one movement. GET /v1/movements/{movement_id}"""
        return await self._call(Call('GET', path('/v1/movements/{}', movement_id)), deadline_s)

    def skus(self, query: Optional[SkusQuery] = None, *, deadline_s: Optional[float] = None
             ) -> AsyncListing[SkusPage, ListedSku]:
        """List the stock, by sku. GET /v1/skus"""
        return self._list(lambda query: Call('GET', '/v1/skus', query), query, deadline_s)

    async def sku(self, sku: Sku, query: Optional[SkuQuery] = None, *, deadline_s: Optional[float] = None) -> Stock:
        """Read the stock of one sku. GET /v1/skus/{sku}"""
        return await self._call(Call('GET', path('/v1/skus/{}', sku), query), deadline_s)

    async def set_sku(self, sku: Sku, body: Optional[SkuRequest] = None, *, deadline_s: Optional[float] = None
                      ) -> SkuSettings:
        """Make a sku, or say more of it. PUT /v1/skus/{sku}"""
        return await self._call(Call('PUT', path('/v1/skus/{}', sku), None, body), deadline_s)

    async def set_for_sale(self, body: SkusForSaleRequest, *, deadline_s: Optional[float] = None) -> SkusForSale:
        """Stop the sale of many skus at once, or let it go on. POST /v1/skus/for_sale"""
        return await self._call(Call('POST', '/v1/skus/for_sale', None, body), deadline_s)

    async def customer(self, sku: Sku, customer: Id, *, deadline_s: Optional[float] = None) -> CustomerAnswer:
        """Read how many units of a sku one customer has. GET /v1/skus/{sku}/customers/{customer}"""
        return await self._call(Call('GET', path('/v1/skus/{}/customers/{}', sku, customer)), deadline_s)

    def waiting(self, sku: Sku, query: Optional[WaitingQuery] = None, *, deadline_s: Optional[float] = None
                ) -> AsyncListing[WaitingPage, WaitingPageItem]:
        """Read the queue for a sku. GET /v1/skus/{sku}/waiting"""
        return self._list(lambda query: Call('GET', path('/v1/skus/{}/waiting', sku), query), query, deadline_s)

    async def set_threshold(self, sku: Sku, body: ThresholdRequest, *, deadline_s: Optional[float] = None
                            ) -> Threshold:
        """Set the number of units at which a sku is low. PUT /v1/skus/{sku}/threshold"""
        return await self._call(Call('PUT', path('/v1/skus/{}/threshold', sku), None, body), deadline_s)

    async def delete_threshold(self, sku: Sku, query: Optional[DeleteThresholdQuery] = None, *, deadline_s:
                               Optional[float] = None
                               ) -> None:
        """Remove a threshold. DELETE /v1/skus/{sku}/threshold"""
        await self._call(Call('DELETE', path('/v1/skus/{}/threshold', sku), query), deadline_s)

    def thresholds(self, sku: Sku, query: Optional[ThresholdsQuery] = None, *, deadline_s: Optional[float] = None
                   ) -> AsyncListing[ThresholdsPage, ThresholdThere]:
        """Read the thresholds of a sku. GET /v1/skus/{sku}/thresholds"""
        return self._list(lambda query: Call('GET', path('/v1/skus/{}/thresholds', sku), query), query, deadline_s)

    def holds(self, sku: Sku, query: Optional[HoldsQuery] = None, *, deadline_s: Optional[float] = None
              ) -> AsyncListing[HoldsPage, Reservation]:
        """List the reservations that hold a sku. GET /v1/skus/{sku}/holds"""
        return self._list(lambda query: Call('GET', path('/v1/skus/{}/holds', sku), query), query, deadline_s)

    def movements(self, sku: Sku, query: Optional[MovementsQuery] = None, *, deadline_s: Optional[float] = None
                  ) -> AsyncListing[MovementsPage, Movement]:
        """List what moved one sku, newest first. GET /v1/skus/{sku}/movements"""
        return self._list(lambda query: Call('GET', path('/v1/skus/{}/movements', sku), query), query, deadline_s)

    def locations(self, query: Optional[LocationsQuery] = None, *, deadline_s: Optional[float] = None
                  ) -> AsyncListing[LocationsPage, Place]:
        """List locations, by code. GET /v1/locations"""
        return self._list(lambda query: Call('GET', '/v1/locations', query), query, deadline_s)

    async def location(self, location: Location, query: Optional[LocationQuery] = None, *, deadline_s: Optional[float]
                       = None
                       ) -> LocationAnswer:
        """Read what kind of place a location is. GET /v1/locations/{location}"""
        return await self._call(Call('GET', path('/v1/locations/{}', location), query), deadline_s)

    async def set_location(self, location: Location, body: Optional[PlaceRequest] = None, *, deadline_s:
                           Optional[float] = None
                           ) -> Place:
        """Make a location, or change its kind. PUT /v1/locations/{location}"""
        return await self._call(Call('PUT', path('/v1/locations/{}', location), None, body), deadline_s)

    async def availability(self, body: AvailabilityRequest, *, deadline_s: Optional[float] = None) -> Availability:
        """Read the stock of many skus at once, or how often baskets can be had. POST /v1/availability"""
        return await self._call(Call('POST', '/v1/availability', None, body), deadline_s)

    async def stock(self, body: StockRequest, *, deadline_s: Optional[float] = None) -> StockAnswer:
        """Read all figures of many skus, by location. POST /v1/stock"""
        return await self._call(Call('POST', '/v1/stock', None, body), deadline_s)

    async def reserve(self, body: ReservationRequest, *, deadline_s: Optional[float] = None) -> ReservationAnswer:
        """Promise units to an order. POST /v1/reservations"""
        return await self._call(Call('POST', '/v1/reservations', None, body), deadline_s)

    def reservations(self, query: Optional[ReservationsQuery] = None, *, deadline_s: Optional[float] = None
                     ) -> AsyncListing[ReservationsPage, Reservation]:
        """List reservations. GET /v1/reservations"""
        return self._list(lambda query: Call('GET', '/v1/reservations', query), query, deadline_s)

    async def find(self, body: FindRequest, *, deadline_s: Optional[float] = None) -> FindAnswer:
        """Read many reservations by their ids. POST /v1/reservations/find"""
        return await self._call(Call('POST', '/v1/reservations/find', None, body), deadline_s)

    async def reserve_many(self, body: BatchRequest, *, deadline_s: Optional[float] = None) -> BatchAnswer:
        """Promise units to many orders. POST /v1/reservations/batch"""
        return await self._call(Call('POST', '/v1/reservations/batch', None, body), deadline_s)

    async def reservation(self, order_id: Id, *, deadline_s: Optional[float] = None) -> ReservationWithKin:
        """Read one reservation. GET /v1/reservations/{order_id}"""
        return await self._call(Call('GET', path('/v1/reservations/{}', order_id)), deadline_s)

    async def change(self, order_id: Id, body: ChangeRequest, *, deadline_s: Optional[float] = None
                     ) -> ReservationAnswer:
        """Give an order other lines. PUT /v1/reservations/{order_id}"""
        return await self._call(Call('PUT', path('/v1/reservations/{}', order_id), None, body), deadline_s)

    def history(self, order_id: Id, query: Optional[HistoryQuery] = None, *, deadline_s: Optional[float] = None
                ) -> AsyncListing[HistoryPage, ReservationEvent]:
        """Read what has happened to one order. GET /v1/reservations/{order_id}/events"""
        return self._list(
            lambda query: Call('GET', path('/v1/reservations/{}/events', order_id), query), query, deadline_s)

    async def confirm(self, order_id: Id, body: Optional[ConfirmRequest] = None, *, deadline_s: Optional[float] = None
                      ) -> ReservationAnswer:
        """The order is sure; keep the units for it. POST /v1/reservations/{order_id}/confirm"""
        return await self._call(Call('POST', path('/v1/reservations/{}/confirm', order_id), None, body), deadline_s)

    async def release(self, order_id: Id, body: Optional[ReleaseRequest] = None, *, deadline_s: Optional[float] = None
                      ) -> ReservationAnswer:
        """Give the units back. POST /v1/reservations/{order_id}/release"""
        return await self._call(Call('POST', path('/v1/reservations/{}/release', order_id), None, body), deadline_s)

    async def settle(self, order_id: Id, body: Optional[SettleRequest] = None, *, deadline_s: Optional[float] = None
                     ) -> ReservationAnswer:
        """This order has left the house. POST /v1/reservations/{order_id}/settle"""
        return await self._call(Call('POST', path('/v1/reservations/{}/settle', order_id), None, body), deadline_s)

    async def hold_back(self, order_id: Id, body: HoldRequest, *, deadline_s: Optional[float] = None
                        ) -> ReservationAnswer:
        """Hold the order back from shipping. PUT /v1/reservations/{order_id}/hold"""
        return await self._call(Call('PUT', path('/v1/reservations/{}/hold', order_id), None, body), deadline_s)

    async def let_go(self, order_id: Id, *, deadline_s: Optional[float] = None) -> ReservationAnswer:
        """Let the order go on. DELETE /v1/reservations/{order_id}/hold"""
        return await self._call(Call('DELETE', path('/v1/reservations/{}/hold', order_id)), deadline_s)

    async def confirm_many(self, body: ConfirmationsRequest, *, deadline_s: Optional[float] = None) -> ChangesAnswer:
        """Many orders are sure. POST /v1/confirmations"""
        return await self._call(Call('POST', '/v1/confirmations', None, body), deadline_s)

    async def release_many(self, body: ReleasesRequest, *, deadline_s: Optional[float] = None) -> ChangesAnswer:
        """Give the units of many orders back. POST /v1/releases"""
        return await self._call(Call('POST', '/v1/releases', None, body), deadline_s)

    async def settle_many(self, body: SettlementsRequest, *, deadline_s: Optional[float] = None) -> ChangesAnswer:
        """Many orders have left the house. POST /v1/settlements"""
        return await self._call(Call('POST', '/v1/settlements', None, body), deadline_s)

    async def extend(self, order_id: Id, body: ExtendRequest, *, deadline_s: Optional[float] = None
                     ) -> ReservationAnswer:
        """Hold for longer, or shorter. POST /v1/reservations/{order_id}/extend"""
        return await self._call(Call('POST', path('/v1/reservations/{}/extend', order_id), None, body), deadline_s)

    async def split(self, order_id: Id, body: SplitRequest, *, deadline_s: Optional[float] = None) -> Reservation:
        """Give a part of the order an id of its own. POST /v1/reservations/{order_id}/split"""
        return await self._call(Call('POST', path('/v1/reservations/{}/split', order_id), None, body), deadline_s)

    async def kick(self, order_id: Id, *, deadline_s: Optional[float] = None) -> ReservationAnswer:
        """Try a buried one again. POST /v1/reservations/{order_id}/kick"""
        return await self._call(Call('POST', path('/v1/reservations/{}/kick', order_id)), deadline_s)

    async def events(self, query: Optional[EventsQuery] = None, *, deadline_s: Optional[float] = None) -> Events:
        """Read what has happened, and wait for more. GET /v1/events"""
        return await self._call(Call('GET', '/v1/events', query), deadline_s)

    async def claim(self, body: ClaimRequest, *, deadline_s: Optional[float] = None) -> Optional[Claim]:
        """Claim a batch of orders. Not sent again after a lost answer. POST /v1/tasks"""
        return await self._call(Call('POST', '/v1/tasks', None, body, once=True), deadline_s)

    def tasks(self, query: Optional[TasksQuery] = None, *, deadline_s: Optional[float] = None
              ) -> AsyncListing[TasksPage, Task]:
        """List tasks, newest first. GET /v1/tasks"""
        return self._list(lambda query: Call('GET', '/v1/tasks', query), query, deadline_s)

    async def task(self, task_id: TaskId, *, deadline_s: Optional[float] = None) -> Task:
        """Read one task. GET /v1/tasks/{task_id}"""
        return await self._call(Call('GET', path('/v1/tasks/{}', task_id)), deadline_s)

    async def heartbeat(self, task_id: TaskId, body: Optional[HeartbeatRequest] = None, *, deadline_s: Optional[float]
                        = None
                        ) -> Task:
        """Renew the lease. POST /v1/tasks/{task_id}/heartbeat"""
        return await self._call(Call('POST', path('/v1/tasks/{}/heartbeat', task_id), None, body), deadline_s)

    async def complete(self, task_id: TaskId, body: Optional[CompleteRequest] = None, *, deadline_s: Optional[float] =
                       None
                       ) -> CompleteAnswer:
        """The work on these orders is done. POST /v1/tasks/{task_id}/complete"""
        return await self._call(Call('POST', path('/v1/tasks/{}/complete', task_id), None, body), deadline_s)

    async def fail(self, task_id: TaskId, body: FailRequest, *, deadline_s: Optional[float] = None) -> FailAnswer:
        """The work on these orders failed. POST /v1/tasks/{task_id}/fail"""
        return await self._call(Call('POST', path('/v1/tasks/{}/fail', task_id), None, body), deadline_s)

    async def give_back(self, task_id: TaskId, *, deadline_s: Optional[float] = None) -> Task:
        """Give back what was not begun. POST /v1/tasks/{task_id}/return"""
        return await self._call(Call('POST', path('/v1/tasks/{}/return', task_id)), deadline_s)

    async def make_webhook(self, body: WebhookRequest, *, deadline_s: Optional[float] = None) -> MakeWebhookAnswer:
        """Have events delivered to an address. POST /v1/webhooks"""
        return await self._call(Call('POST', '/v1/webhooks', None, body), deadline_s)

    def webhooks(self, query: Optional[WebhooksQuery] = None, *, deadline_s: Optional[float] = None
                 ) -> AsyncListing[WebhooksPage, Webhook]:
        """List webhooks, by id. GET /v1/webhooks"""
        return self._list(lambda query: Call('GET', '/v1/webhooks', query), query, deadline_s)

    async def webhook(self, webhook_id: Id, *, deadline_s: Optional[float] = None) -> Webhook:
        """Read one webhook. GET /v1/webhooks/{webhook_id}"""
        return await self._call(Call('GET', path('/v1/webhooks/{}', webhook_id)), deadline_s)

    async def delete_webhook(self, webhook_id: Id, *, deadline_s: Optional[float] = None) -> None:
        """Remove a webhook. DELETE /v1/webhooks/{webhook_id}"""
        await self._call(Call('DELETE', path('/v1/webhooks/{}', webhook_id)), deadline_s)

    async def enable_webhook(self, webhook_id: Id, body: Optional[EnableRequest] = None, *, deadline_s:
                             Optional[float] = None
                             ) -> Webhook:
        """Go on with a webhook. Not sent again after a lost answer. POST /v1/webhooks/{webhook_id}/enable"""
        return await self._call(
            Call('POST', path('/v1/webhooks/{}/enable', webhook_id), None, body, once=True), deadline_s)

    async def rotate_webhook(self, webhook_id: Id, *, deadline_s: Optional[float] = None) -> WebhookWithSecret:
        """Give a webhook a new secret. Not sent again after a lost answer. POST /v1/webhooks/{webhook_id}/rotate"""
        return await self._call(Call('POST', path('/v1/webhooks/{}/rotate', webhook_id), once=True), deadline_s)

    async def ping_webhook(self, webhook_id: Id, *, deadline_s: Optional[float] = None) -> Ping:
        """Send a webhook something to receive. Not sent again after a lost answer. POST
        /v1/webhooks/{webhook_id}/ping"""
        return await self._call(Call('POST', path('/v1/webhooks/{}/ping', webhook_id), once=True), deadline_s)

    async def attempts(self, webhook_id: Id, *, deadline_s: Optional[float] = None) -> Attempts:
        """The last attempts of a webhook. GET /v1/webhooks/{webhook_id}/attempts"""
        return await self._call(Call('GET', path('/v1/webhooks/{}/attempts', webhook_id)), deadline_s)

    async def jobs(self, *, deadline_s: Optional[float] = None) -> JobList:
        """The jobs, and what they have to do. GET /v1/jobs"""
        return await self._call(Call('GET', '/v1/jobs'), deadline_s)

    async def set_job(self, job: Id, body: SetJobRequest, *, deadline_s: Optional[float] = None) -> Job:
        """Pause a job, or resume it. PUT /v1/jobs/{job}"""
        return await self._call(Call('PUT', path('/v1/jobs/{}', job), None, body), deadline_s)

    def buried(self, query: Optional[BuriedQuery] = None, *, deadline_s: Optional[float] = None
               ) -> AsyncListing[BuriedPage, BuriedPageItem]:
        """Why orders are buried. GET /v1/buried"""
        return self._list(lambda query: Call('GET', '/v1/buried', query), query, deadline_s)

    async def kick_many(self, body: Optional[KicksRequest] = None, *, deadline_s: Optional[float] = None) -> Kicked:
        """Give many buried orders to workers again. Not sent again after a lost answer. POST /v1/kicks"""
        return await self._call(Call('POST', '/v1/kicks', None, body, once=True), deadline_s)

    async def key(self, *, deadline_s: Optional[float] = None) -> KeyAnswer:
        """The name and the roles of this key. GET /v1/key"""
        return await self._call(Call('GET', '/v1/key'), deadline_s)

    async def stats(self, *, deadline_s: Optional[float] = None) -> Stats:
        """How much there is. GET /v1/stats"""
        return await self._call(Call('GET', '/v1/stats'), deadline_s)

    async def activity(self, query: Optional[ActivityQuery] = None, *, deadline_s: Optional[float] = None
                       ) -> Activity:
        """What has gone on, second by second. GET /v1/activity"""
        return await self._call(Call('GET', '/v1/activity', query), deadline_s)
